; Copyright (c) 2026 The Phalanx developers
; SPDX-License-Identifier: MIT
;
; Part of every module that computes sines. `loop.py` fills in words with a dollar sign.

; Replaces sines and cosines of angles beyond 1e5 by those of the C library or of far.ll. Three rows of %count
; numbers lie one after another: angles, sines, cosines.
define internal void @sincos_large(ptr %angles, i64 %count) noinline cold #0 {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %j, %done ]
  %at = getelementptr $element, ptr %angles, i64 %i
  %x = load $element, ptr %at
  %up = fcmp ogt $element %x, 0x40F86A0000000000
  %down = fcmp olt $element %x, 0xC0F86A0000000000
  %large = or i1 %up, %down
  br i1 %large, label %call, label %done
call:
  %s = call $element @sin$suffix($element %x)
  %c = call $element @cos$suffix($element %x)
  %si = add i64 %i, %count
  %ci = add i64 %si, %count
  %sat = getelementptr $element, ptr %angles, i64 %si
  %cat = getelementptr $element, ptr %angles, i64 %ci
  store $element %s, ptr %sat
  store $element %c, ptr %cat
  br label %done
done:
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %count
  br i1 %more, label %next, label %end
end:
  ret void
}
