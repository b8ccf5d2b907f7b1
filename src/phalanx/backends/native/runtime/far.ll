; Copyright (c) 2026 The Phalanx developers
; SPDX-License-Identifier: MIT
;
; Sine and cosine of angles beyond 2^16 for machines without a C library: the range reduction of Payne and Hanek,
; in integers of 32 and 64 bits. freestanding.py fills in words with a dollar sign.

; Two words of zeros, then as many bits of 2/pi as the largest angles need.
@over_pi = internal constant [39 x i32] [ i32 0, i32 0,
    i32 u0xA2F9836E, i32 u0x4E441529, i32 u0xFC2757D1, i32 u0xF534DDC0, i32 u0xDB629599, i32 u0x3C439041,
    i32 u0xFE5163AB, i32 u0xDEBBC561, i32 u0xB7246E3A, i32 u0x424DD2E0, i32 u0x06492EEA, i32 u0x09D1921C,
    i32 u0xFE1DEB1C, i32 u0xB129A73E, i32 u0xE88235F5, i32 u0x2EBB4484, i32 u0xE99C7026, i32 u0xB45F7E41,
    i32 u0x3991D639, i32 u0x835339F4, i32 u0x9C845F8B, i32 u0xBDF9283B, i32 u0x1FF897FF, i32 u0xDE05980F,
    i32 u0xEF2F118B, i32 u0x5A0A6D1F, i32 u0x6D367ECF, i32 u0x27CB09B7, i32 u0x4F463F66, i32 u0x9E5FEA2D,
    i32 u0x7527BAC7, i32 u0xEBE5F17B, i32 u0x3D0739F7, i32 u0x8A5292EA, i32 u0x6BFB5FB1, i32 u0x1F8D5D08,
    i32 u0x56033046 ]

define internal $element @sin$suffix($element %x) noinline cold #0 {
  %s = call $element @far($element %x, i32 0)
  ret $element %s
}

; The cosine: the sine of |x| + pi/2.
define internal $element @cos$suffix($element %x) noinline cold #0 {
  %down = fcmp olt $element %x, 0.0
  %minus = fneg $element %x
  %size = select i1 %down, $element %minus, $element %x
  %c = call $element @far($element %size, i32 1)
  ret $element %c
}

declare i32 @llvm.ctlz.i32(i32, i1)

; The sine of x plus a multiple of pi/2.
define internal $element @far($element %x, i32 %more) noinline cold #0 {
entry:
  %raw = bitcast $element %x to $integer
  %bits = $widened
  %exponent = lshr i64 %bits, $mantissa
  %biased = and i64 %exponent, $exponents
  %endless = icmp eq i64 %biased, $exponents
  br i1 %endless, label %nan, label %finite
nan:
  %nothing = fsub $element %x, %x
  ret $element %nothing
finite:
  ; |x| = m 2^e. pi/2 has the weight 2^30 in the first of six words of m (2/pi) that begin at bit e + 62. The
  ; bits above are multiples of 2 pi, those below are less than 2^-137.
  %fraction = and i64 %bits, $fractions
  %m = or i64 %fraction, $implicit
  %m.low = and i64 %m, 4294967295
  %m.high = lshr i64 %m, 32
  %place = sub i64 %biased, $offset
  %first = lshr i64 %place, 5
  %turn = and i64 %place, 31
  %unturn = sub i64 32, %turn
  %first.at = getelementptr i32, ptr @over_pi, i64 %first
  br label %word
word:                                             ; from the last word to the first; the latest is w0
  %i = phi i64 [ 5, %finite ], [ %i.next, %word ]
  %carry = phi i64 [ 0, %finite ], [ %carry.next, %word ]
  %behind = phi i64 [ 0, %finite ], [ %here, %word ]
  %w0 = phi i32 [ 0, %finite ], [ %w, %word ]
  %w1 = phi i32 [ 0, %finite ], [ %w0, %word ]
  %w2 = phi i32 [ 0, %finite ], [ %w1, %word ]
  %w3 = phi i32 [ 0, %finite ], [ %w2, %word ]
  %near.at = getelementptr i32, ptr %first.at, i64 %i
  %near.int = load i32, ptr %near.at
  %near = zext i32 %near.int to i64
  %next.at = getelementptr i32, ptr %near.at, i64 1
  %next.int = load i32, ptr %next.at
  %next = zext i32 %next.int to i64
  %near.up = shl i64 %near, 32
  %both = or i64 %near.up, %next
  %moved = lshr i64 %both, %unturn
  %here = and i64 %moved, 4294967295
  %low = mul i64 %m.low, %here
  %low.sum = add i64 %low, %carry
  %low.word = and i64 %low.sum, 4294967295
  %low.carry = lshr i64 %low.sum, 32
  %high = mul i64 %m.high, %behind
  %high.sum = add i64 %high, %low.word
  %high.carry = lshr i64 %high.sum, 32
  %carry.next = add i64 %low.carry, %high.carry
  %w = trunc i64 %high.sum to i32
  %i.next = sub i64 %i, 1
  %go.on = icmp sge i64 %i.next, 0
  br i1 %go.on, label %word, label %turned
turned:
  ; Two bits of the quadrant, then the fraction; from one half on it is the next quadrant less the remainder.
  %quarters = lshr i32 %w, 30
  %half = lshr i32 %w, 29
  %up = and i32 %half, 1
  %flip = sub i32 0, %up
  %a.flipped = xor i32 %w, %flip
  %a0 = and i32 %a.flipped, 1073741823
  %b0 = xor i32 %w0, %flip
  %c0 = xor i32 %w1, %flip
  %d0 = xor i32 %w2, %flip
  %e0 = xor i32 %w3, %flip
  ; The 64 bits from the first one on: no angle has more than 64 zeros in front of it.
  %a.none = icmp eq i32 %a0, 0
  %a1 = select i1 %a.none, i32 %b0, i32 %a0
  %b1 = select i1 %a.none, i32 %c0, i32 %b0
  %c1 = select i1 %a.none, i32 %d0, i32 %c0
  %d1 = select i1 %a.none, i32 %e0, i32 %d0
  %z1 = select i1 %a.none, i32 32, i32 0
  %a1.none = icmp eq i32 %a1, 0
  %a2 = select i1 %a1.none, i32 %b1, i32 %a1
  %b2 = select i1 %a1.none, i32 %c1, i32 %b1
  %c2 = select i1 %a1.none, i32 %d1, i32 %c1
  %z2 = select i1 %a1.none, i32 32, i32 0
  %zeros = call i32 @llvm.ctlz.i32(i32 %a2, i1 true)
  %zeros.wide = zext i32 %zeros to i64
  %a.wide = zext i32 %a2 to i64
  %b.wide = zext i32 %b2 to i64
  %c.wide = zext i32 %c2 to i64
  %a.up = shl i64 %a.wide, 32
  %ab = or i64 %a.up, %b.wide
  %ab.up = shl i64 %ab, %zeros.wide
  %c.up = shl i64 %c.wide, %zeros.wide
  %c.over = lshr i64 %c.up, 32
  %f = or i64 %ab.up, %c.over
  ; times pi/2 2^63, in halves
  %f.high = lshr i64 %f, 32
  %f.low = and i64 %f, 4294967295
  %p.high = mul i64 %f.high, u0xC90FDAA2
  %p.mid = mul i64 %f.high, u0x2168C235
  %p.also = mul i64 %f.low, u0xC90FDAA2
  %p.mid.over = lshr i64 %p.mid, 32
  %p.also.over = lshr i64 %p.also, 32
  %p.more = add i64 %p.mid.over, %p.also.over
  %p = add i64 %p.high, %p.more
  ; as a real number: both halves are exact, or the first is as good as both
  %p.top = lshr i64 %p, 32
  %p.top.int = trunc i64 %p.top to i32
  %p.end.int = trunc i64 %p to i32
  %p.top.real = uitofp i32 %p.top.int to $element
  %p.end.real = uitofp i32 %p.end.int to $element
  %p.top.up = fmul $element %p.top.real, 0x41F0000000000000
  %p.real = fadd $element %p.top.up, %p.end.real
  %z12 = add i32 %z1, %z2
  %z = add i32 %z12, %zeros
  %z.wide = zext i32 %z to i64
  %scale.biased = sub i64 $unit, %z.wide          ; 2^(-61 - z)
  %scale.bits = shl i64 %scale.biased, $mantissa
  %scale.whole = $narrowed
  %scale = bitcast $integer %scale.whole to $element
  %r = fmul $element %p.real, %scale
  %r2 = fmul $element %r, %r
$polynomials
  %r3 = fmul $element %r, %r2
  %s.rest = fmul $element %r3, %s
  %sine = fadd $element %s.rest, %r
  %c.rest = fmul $element %r2, %c
  %c.less = fadd $element %c.rest, -0.5
  %c.all = fmul $element %r2, %c.less
  %cosine = fadd $element %c.all, 1.0
  %q.up = add i32 %quarters, %up
  %q = add i32 %q.up, %more
  %odd = and i32 %q, 1
  %is.odd = icmp ne i32 %odd, 0
  %value = select i1 %is.odd, $element %cosine, $element %sine
  ; A negative remainder, quadrants two and three, and a negative angle: each changes the sign.
  %rest.sign = select i1 %is.odd, i32 0, i32 %up
  %half.turns = lshr i32 %q, 1
  %sign.two = xor i32 %rest.sign, %half.turns
  %x.sign.wide = lshr i64 %bits, $top
  %x.sign = trunc i64 %x.sign.wide to i32
  %sign.three = xor i32 %sign.two, %x.sign
  %sign = and i32 %sign.three, 1
  %is.minus = icmp ne i32 %sign, 0
  %minus = fneg $element %value
  %answer = select i1 %is.minus, $element %minus, $element %value
  ret $element %answer
}
