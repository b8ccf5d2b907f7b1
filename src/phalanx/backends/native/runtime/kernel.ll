; Copyright (c) 2026 The Phalanx developers
; SPDX-License-Identifier: MIT
;
; Part of every kernel, beside its block and sincos.ll. loop.py fills in words with a dollar sign.

; Copies rows of a three-dimensional core from any strides to any others; spare rows repeat the last.
define internal void @copy(ptr %to, i64 %to0, i64 %to1, i64 %to2, i64 %to3, ptr %from, i64 %from0, i64 %from1, i64 %from2, i64 %from3, i64 %rows, i64 %valid, i64 %n1, i64 %n2, i64 %n3) noinline nounwind {
entry:
  %last = sub i64 %valid, 1
  %any = icmp sgt i64 %rows, 0
  br i1 %any, label %row, label %end
row:
  %r = phi i64 [ 0, %entry ], [ %r1, %row_end ]
  %in = icmp ult i64 %r, %last
  %rr = select i1 %in, i64 %r, i64 %last
  %t0 = mul i64 %r, %to0
  %f0 = mul i64 %rr, %from0
  br label %a
a:
  %i = phi i64 [ 0, %row ], [ %i1, %a_end ]
  %ti = mul i64 %i, %to1
  %fi = mul i64 %i, %from1
  %t1 = add i64 %t0, %ti
  %f1 = add i64 %f0, %fi
  br label %b
b:
  %j = phi i64 [ 0, %a ], [ %j1, %b_end ]
  %tj = mul i64 %j, %to2
  %fj = mul i64 %j, %from2
  %t2 = add i64 %t1, %tj
  %f2 = add i64 %f1, %fj
  br label %c
c:
  %k = phi i64 [ 0, %b ], [ %k1, %c ]
  %tk = mul i64 %k, %to3
  %fk = mul i64 %k, %from3
  %t3 = add i64 %t2, %tk
  %f3 = add i64 %f2, %fk
  %src = getelementptr i8, ptr %from, i64 %f3
  %dst = getelementptr i8, ptr %to, i64 %t3
  %x = load $element, ptr %src, align 1
  store $element %x, ptr %dst, align 1
  %k1 = add i64 %k, 1
  %c_more = icmp ult i64 %k1, %n3
  br i1 %c_more, label %c, label %b_end
b_end:
  %j1 = add i64 %j, 1
  %b_more = icmp ult i64 %j1, %n2
  br i1 %b_more, label %b, label %a_end
a_end:
  %i1 = add i64 %i, 1
  %a_more = icmp ult i64 %i1, %n1
  br i1 %a_more, label %a, label %row_end
row_end:
  %r1 = add i64 %r, 1
  %row_more = icmp ult i64 %r1, %rows
  br i1 %row_more, label %row, label %end
end:
  ret void
}
