; Copyright (c) 2026 The Phalanx developers
; SPDX-License-Identifier: MIT
;
; The iteration over a batch of any strides, as rows that any thread may compute from any index: broadcast axes
; have the stride 0, contiguous axes are merged, and the longest is the innermost.

; The number of rows, after filling in the iteration over operands whose cores have been checked; 0 if their
; batches do not broadcast to that of the output, or if the output shares memory with an input.
define internal i64 @planned(ptr %walk, ptr %kernel, ptr %args) nounwind {
entry:
  %loop.from = getelementptr %kernel, ptr %kernel, i64 0, i32 1
  %loop = load ptr, ptr %loop.from
  store ptr %loop, ptr %walk
  %uniforms.from = getelementptr %kernel, ptr %kernel, i64 0, i32 3
  %uniforms = load ptr, ptr %uniforms.from
  %uniforms.at = getelementptr %walk, ptr %walk, i64 0, i32 1
  store ptr %uniforms, ptr %uniforms.at
  %n.from = getelementptr %kernel, ptr %kernel, i64 0, i32 4
  %n = load i64, ptr %n.from
  %n.at = getelementptr %walk, ptr %walk, i64 0, i32 2
  store i64 %n, ptr %n.at
  %last = sub i64 %n, 1
  %axes.at = getelementptr %walk, ptr %walk, i64 0, i32 3
  store i64 0, ptr %axes.at
  %lengths.at = getelementptr %walk, ptr %walk, i64 0, i32 9
  %lengths = load ptr, ptr %lengths.at
  %strides.at = getelementptr %walk, ptr %walk, i64 0, i32 10
  %strides = load ptr, ptr %strides.at
  %out.at = getelementptr ptr, ptr %args, i64 %last
  %out = load ptr, ptr %out.at
  %shape.at = getelementptr i8, ptr %out, i64 $shape
  %shape = load ptr, ptr %shape.at
  %batch = call i64 @batch_axes(ptr %kernel, ptr %out, i64 %last)
  br label %count
count:
  %m = phi i64 [ 0, %entry ], [ %m.next, %shorter ]
  %each.at = getelementptr ptr, ptr %args, i64 %m
  %each = load ptr, ptr %each.at
  %each.axes = call i64 @batch_axes(ptr %kernel, ptr %each, i64 %m)
  %is.shorter = icmp ule i64 %each.axes, %batch
  br i1 %is.shorter, label %shorter, label %refuse
shorter:
  %m.next = add i64 %m, 1
  %m.more = icmp ult i64 %m.next, %n
  br i1 %m.more, label %count, label %axis
axis:
  %a = phi i64 [ 0, %shorter ], [ %a.next, %axis.end ]
  %rows = phi i64 [ 1, %shorter ], [ %rows.next, %axis.end ]
  %is.more = icmp ult i64 %a, %batch
  br i1 %is.more, label %open, label %through
open:
  %length.at = getelementptr i64, ptr %shape, i64 %a
  %length = load i64, ptr %length.at
  %rows.next = mul i64 %rows, %length
  %axes = load i64, ptr %axes.at
  %mine = getelementptr [$operands x i64], ptr %strides, i64 %axes
  br label %operand
operand:
  %k = phi i64 [ 0, %open ], [ %k.next, %operand.end ]
  %carried = phi i1 [ false, %open ], [ %carried.next, %operand.end ]      ; whether an input has this axis
  %object.at = getelementptr ptr, ptr %args, i64 %k
  %object = load ptr, ptr %object.at
  %own.axes = call i64 @batch_axes(ptr %kernel, ptr %object, i64 %k)
  %ahead = sub i64 %batch, %own.axes
  %place = sub i64 %a, %ahead
  %is.there = icmp sge i64 %place, 0
  br i1 %is.there, label %there, label %operand.end
there:
  %own.shape.at = getelementptr i8, ptr %object, i64 $shape
  %own.shape = load ptr, ptr %own.shape.at
  %own.length.at = getelementptr i64, ptr %own.shape, i64 %place
  %own.length = load i64, ptr %own.length.at
  %own.strides.at = getelementptr i8, ptr %object, i64 $strides
  %own.strides = load ptr, ptr %own.strides.at
  %own.stride.at = getelementptr i64, ptr %own.strides, i64 %place
  %own.stride = load i64, ptr %own.stride.at
  %is.same = icmp eq i64 %own.length, %length
  %is.one = icmp eq i64 %own.length, 1
  %broadcasts = or i1 %is.same, %is.one
  %stride.there = select i1 %is.one, i64 0, i64 %own.stride
  %is.input = icmp ult i64 %k, %last
  %carries = and i1 %is.same, %is.input
  br i1 %broadcasts, label %operand.end, label %refuse
operand.end:
  %stride = phi i64 [ 0, %operand ], [ %stride.there, %there ]
  %carries.too = phi i1 [ false, %operand ], [ %carries, %there ]
  %carried.next = or i1 %carried, %carries.too
  %stride.at = getelementptr i64, ptr %mine, i64 %k
  store i64 %stride, ptr %stride.at
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %n
  br i1 %k.more, label %operand, label %operands.end
operands.end:
  br i1 %carried.next, label %join, label %refuse                          ; results would be repeated
join:
  %is.trivial = icmp eq i64 %length, 1
  br i1 %is.trivial, label %axis.end, label %neighbour
neighbour:
  %has.before = icmp ugt i64 %axes, 0
  %axes.before = sub i64 %axes, 1
  br i1 %has.before, label %compare, label %push
compare:
  %c = phi i64 [ 0, %neighbour ], [ %c.next, %compare.next ]
  %before = getelementptr [$operands x i64], ptr %strides, i64 %axes.before, i64 %c
  %outer = load i64, ptr %before
  %this = getelementptr i64, ptr %mine, i64 %c
  %inner = load i64, ptr %this
  %span = mul i64 %inner, %length
  %is.row = icmp eq i64 %outer, %span
  br i1 %is.row, label %compare.next, label %push
compare.next:
  %c.next = add i64 %c, 1
  %c.more = icmp ult i64 %c.next, %n
  br i1 %c.more, label %compare, label %merge
merge:                                                                     ; into one axis with that before
  %merged = getelementptr [$operands x i64], ptr %strides, i64 %axes.before
  %bytes = mul i64 %n, 8
  call void @llvm.memmove.p0.p0.i64(ptr %merged, ptr %mine, i64 %bytes, i1 false)
  %merged.at = getelementptr i64, ptr %lengths, i64 %axes.before
  %merged.length = load i64, ptr %merged.at
  %product = mul i64 %merged.length, %length
  store i64 %product, ptr %merged.at
  br label %axis.end
push:
  %pushed.at = getelementptr i64, ptr %lengths, i64 %axes
  store i64 %length, ptr %pushed.at
  %axes.more = add i64 %axes, 1
  store i64 %axes.more, ptr %axes.at
  br label %axis.end
axis.end:
  %a.next = add i64 %a, 1
  br label %axis
through:
  %found = load i64, ptr %axes.at
  %is.empty = icmp eq i64 %rows, 0
  br i1 %is.empty, label %refuse, label %some
some:
  %is.single = icmp eq i64 %found, 0
  br i1 %is.single, label %one, label %longest
one:                                                                       ; a state alone is a row of one
  %one.bytes = mul i64 %n, 8
  call void @llvm.memset.p0.i64(ptr %strides, i8 0, i64 %one.bytes, i1 false)
  store i64 1, ptr %lengths
  store i64 1, ptr %axes.at
  br label %cores
longest:
  call void @innermost(ptr %lengths, ptr %strides, i64 %found)
  br label %cores
cores:
  call void @core_steps(ptr %walk, ptr %kernel, ptr %args)
  %apart = call i1 @is_apart(ptr %walk, ptr %kernel, ptr %args)
  br i1 %apart, label %distinct, label %refuse
distinct:
  %repeated = call i1 @repeats(ptr %kernel, ptr %args, i64 %n)
  br i1 %repeated, label %refuse, label %answer
answer:
  ret i64 %rows
refuse:
  ret i64 0
}

declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; The number of batch axes of an operand.
define internal i64 @batch_axes(ptr %kernel, ptr %object, i64 %k) nounwind {
  %ndim.at = getelementptr i8, ptr %object, i64 $ndim
  %ndim = load i32, ptr %ndim.at
  %core = getelementptr %kernel, ptr %kernel, i64 0, i32 6, i64 %k
  %axes = load i32, ptr %core
  %batch = sub i32 %ndim, %axes
  %answer = zext i32 %batch to i64
  ret i64 %answer
}

; Swap the longest axis with the last.
define internal void @innermost(ptr %lengths, ptr %strides, i64 %axes) nounwind {
entry:
  %spare = alloca [$operands x i64]
  %last = sub i64 %axes, 1
  br label %look
look:
  %a = phi i64 [ %last, %entry ], [ %a.next, %look ]
  %best = phi i64 [ %last, %entry ], [ %best.next, %look ]
  %here.at = getelementptr i64, ptr %lengths, i64 %a
  %here = load i64, ptr %here.at
  %best.at = getelementptr i64, ptr %lengths, i64 %best
  %most = load i64, ptr %best.at
  %longer = icmp sgt i64 %here, %most
  %best.next = select i1 %longer, i64 %a, i64 %best
  %a.next = sub i64 %a, 1
  %is.first = icmp eq i64 %a, 0
  br i1 %is.first, label %swap, label %look
swap:
  %one = getelementptr i64, ptr %lengths, i64 %best.next
  %other = getelementptr i64, ptr %lengths, i64 %last
  %length.one = load i64, ptr %one
  %length.other = load i64, ptr %other
  store i64 %length.other, ptr %one
  store i64 %length.one, ptr %other
  %row.one = getelementptr [$operands x i64], ptr %strides, i64 %best.next
  %row.other = getelementptr [$operands x i64], ptr %strides, i64 %last
  call void @llvm.memmove.p0.p0.i64(ptr %spare, ptr %row.one, i64 $row, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %row.one, ptr %row.other, i64 $row, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %row.other, ptr %spare, i64 $row, i1 false)
  ret void
}

; Fills in the steps of a ufunc's loop: strides of the innermost axis, then those of all cores.
define internal void @core_steps(ptr %walk, ptr %kernel, ptr %args) nounwind {
entry:
  %n.at = getelementptr %walk, ptr %walk, i64 0, i32 2
  %n = load i64, ptr %n.at
  %axes.at = getelementptr %walk, ptr %walk, i64 0, i32 3
  %axes = load i64, ptr %axes.at
  %innermost = sub i64 %axes, 1
  %strides.at = getelementptr %walk, ptr %walk, i64 0, i32 10
  %strides = load ptr, ptr %strides.at
  %row = getelementptr [$operands x i64], ptr %strides, i64 %innermost
  %steps.at = getelementptr %walk, ptr %walk, i64 0, i32 11
  %steps = load ptr, ptr %steps.at
  %bytes = mul i64 %n, 8
  call void @llvm.memmove.p0.p0.i64(ptr %steps, ptr %row, i64 %bytes, i1 false)
  br label %operand
operand:
  %k = phi i64 [ 0, %entry ], [ %k.next, %operand.end ]
  %place = phi i64 [ %n, %entry ], [ %place.end, %operand.end ]
  %object.at = getelementptr ptr, ptr %args, i64 %k
  %object = load ptr, ptr %object.at
  %ndim.at = getelementptr i8, ptr %object, i64 $ndim
  %ndim.int = load i32, ptr %ndim.at
  %ndim = zext i32 %ndim.int to i64
  %from = call i64 @batch_axes(ptr %kernel, ptr %object, i64 %k)
  %own.at = getelementptr i8, ptr %object, i64 $strides
  %own = load ptr, ptr %own.at
  br label %axis
axis:
  %a = phi i64 [ %from, %operand ], [ %a.next, %step ]
  %place.a = phi i64 [ %place, %operand ], [ %place.next, %step ]
  %is.more = icmp ult i64 %a, %ndim
  br i1 %is.more, label %step, label %operand.end
step:
  %stride.at = getelementptr i64, ptr %own, i64 %a
  %stride = load i64, ptr %stride.at
  %step.at = getelementptr i64, ptr %steps, i64 %place.a
  store i64 %stride, ptr %step.at
  %a.next = add i64 %a, 1
  %place.next = add i64 %place.a, 1
  br label %axis
operand.end:
  %place.end = phi i64 [ %place.a, %axis ]
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %n
  br i1 %k.more, label %operand, label %end
end:
  ret void
}

; Whether the memory of the output, from its first byte to its last, is disjoint from an input's.
define internal i1 @is_apart(ptr %walk, ptr %kernel, ptr %args) nounwind {
entry:
  %bounds = alloca [2 x i64]
  %bounds.out = alloca [2 x i64]
  %n.at = getelementptr %walk, ptr %walk, i64 0, i32 2
  %n = load i64, ptr %n.at
  %last = sub i64 %n, 1
  %out.at = getelementptr ptr, ptr %args, i64 %last
  %out = load ptr, ptr %out.at
  call void @extent(ptr %out, ptr %bounds.out)
  %out.low = load i64, ptr %bounds.out
  %out.high.at = getelementptr i64, ptr %bounds.out, i64 1
  %out.high = load i64, ptr %out.high.at
  br label %operand
operand:
  %k = phi i64 [ 0, %entry ], [ %k.next, %operand.end ]
  %is.more = icmp ult i64 %k, %last
  br i1 %is.more, label %input, label %answer
input:
  %object.at = getelementptr ptr, ptr %args, i64 %k
  %object = load ptr, ptr %object.at
  call void @extent(ptr %object, ptr %bounds)
  %low = load i64, ptr %bounds
  %high.at = getelementptr i64, ptr %bounds, i64 1
  %high = load i64, ptr %high.at
  %after = icmp ugt i64 %low, %out.high
  %before = icmp ult i64 %high, %out.low
  %apart = or i1 %after, %before
  br i1 %apart, label %operand.end, label %answer
operand.end:
  %k.next = add i64 %k, 1
  br label %operand
answer:
  %reply = phi i1 [ true, %operand ], [ false, %input ]
  ret i1 %reply
}

; Whether an output has a longer axis of stride 0, whose elements are one in memory.
define internal i1 @repeats(ptr %kernel, ptr %args, i64 %n) nounwind {
entry:
  br label %operand
operand:
  %k = phi i64 [ 0, %entry ], [ %k.next, %operand.end ]
  %object.at = getelementptr ptr, ptr %args, i64 %k
  %object = load ptr, ptr %object.at
  %needed.at = getelementptr %kernel, ptr %kernel, i64 0, i32 6, i64 %k, i32 1
  %needed = load i32, ptr %needed.at
  %written = and i32 %needed, $writeable
  %is.output = icmp ne i32 %written, 0
  br i1 %is.output, label %output, label %operand.end
output:
  %ndim.at = getelementptr i8, ptr %object, i64 $ndim
  %ndim.int = load i32, ptr %ndim.at
  %ndim = zext i32 %ndim.int to i64
  %shape.at = getelementptr i8, ptr %object, i64 $shape
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr i8, ptr %object, i64 $strides
  %strides = load ptr, ptr %strides.at
  br label %axis
axis:
  %a = phi i64 [ 0, %output ], [ %a.next, %look ]
  %is.more = icmp ult i64 %a, %ndim
  br i1 %is.more, label %look, label %operand.end
look:
  %length.at = getelementptr i64, ptr %shape, i64 %a
  %length = load i64, ptr %length.at
  %stride.at = getelementptr i64, ptr %strides, i64 %a
  %stride = load i64, ptr %stride.at
  %is.long = icmp sgt i64 %length, 1
  %is.still = icmp eq i64 %stride, 0
  %is.one = and i1 %is.long, %is.still
  %a.next = add i64 %a, 1
  br i1 %is.one, label %answer, label %axis
operand.end:
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %n
  br i1 %k.more, label %operand, label %answer
answer:
  %reply = phi i1 [ true, %look ], [ false, %operand.end ]
  ret i1 %reply
}

; The lowest and the highest address of an element of an array.
define internal void @extent(ptr %object, ptr %bounds) nounwind {
entry:
  %ndim.at = getelementptr i8, ptr %object, i64 $ndim
  %ndim.int = load i32, ptr %ndim.at
  %ndim = zext i32 %ndim.int to i64
  %shape.at = getelementptr i8, ptr %object, i64 $shape
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr i8, ptr %object, i64 $strides
  %strides = load ptr, ptr %strides.at
  %data.at = getelementptr i8, ptr %object, i64 $pointer
  %data = load i64, ptr %data.at
  br label %axis
axis:
  %a = phi i64 [ 0, %entry ], [ %a.next, %reach ]
  %low = phi i64 [ %data, %entry ], [ %low.next, %reach ]
  %high = phi i64 [ %data, %entry ], [ %high.next, %reach ]
  %is.more = icmp ult i64 %a, %ndim
  br i1 %is.more, label %reach, label %end
reach:
  %length.at = getelementptr i64, ptr %shape, i64 %a
  %length = load i64, ptr %length.at
  %stride.at = getelementptr i64, ptr %strides, i64 %a
  %stride = load i64, ptr %stride.at
  %steps = sub i64 %length, 1
  %span = mul i64 %steps, %stride
  %down = call i64 @llvm.smin.i64(i64 %span, i64 0)
  %up = call i64 @llvm.smax.i64(i64 %span, i64 0)
  %low.next = add i64 %low, %down
  %high.next = add i64 %high, %up
  %a.next = add i64 %a, 1
  br label %axis
end:
  store i64 %low, ptr %bounds
  %high.at = getelementptr i64, ptr %bounds, i64 1
  store i64 %high, ptr %high.at
  ret void
}

; Compute rows from start to stop, one run along the innermost axis after another.
define internal void @walk(ptr %walk, i64 %start, i64 %stop) nounwind {
entry:
  %addresses = alloca [$operands x ptr]
  %run = alloca i64
  %loop = load ptr, ptr %walk
  %uniforms.at = getelementptr %walk, ptr %walk, i64 0, i32 1
  %uniforms = load ptr, ptr %uniforms.at
  %n.at = getelementptr %walk, ptr %walk, i64 0, i32 2
  %n = load i64, ptr %n.at
  %axes.at = getelementptr %walk, ptr %walk, i64 0, i32 3
  %axes = load i64, ptr %axes.at
  %innermost = sub i64 %axes, 1
  %bases.at = getelementptr %walk, ptr %walk, i64 0, i32 8
  %bases = load ptr, ptr %bases.at
  %lengths.at = getelementptr %walk, ptr %walk, i64 0, i32 9
  %lengths = load ptr, ptr %lengths.at
  %strides.at = getelementptr %walk, ptr %walk, i64 0, i32 10
  %strides = load ptr, ptr %strides.at
  %steps.at = getelementptr %walk, ptr %walk, i64 0, i32 11
  %steps = load ptr, ptr %steps.at
  %length.at = getelementptr i64, ptr %lengths, i64 %innermost
  %length = load i64, ptr %length.at
  %bytes = mul i64 %n, 8
  br label %check
check:
  %row = phi i64 [ %start, %entry ], [ %row.next, %compute ]
  %is.more = icmp slt i64 %row, %stop
  br i1 %is.more, label %place, label %end
place:
  call void @llvm.memmove.p0.p0.i64(ptr %addresses, ptr %bases, i64 %bytes, i1 false)
  br label %axis
axis:
  %a = phi i64 [ %innermost, %place ], [ %a.next, %axis.end ]
  %rest = phi i64 [ %row, %place ], [ %rest.next, %axis.end ]
  %own.at = getelementptr i64, ptr %lengths, i64 %a
  %own = load i64, ptr %own.at
  %index = urem i64 %rest, %own
  %rest.next = udiv i64 %rest, %own
  br label %operand
operand:
  %k = phi i64 [ 0, %axis ], [ %k.next, %operand ]
  %stride.at = getelementptr [$operands x i64], ptr %strides, i64 %a, i64 %k
  %stride = load i64, ptr %stride.at
  %move = mul i64 %stride, %index
  %address.at = getelementptr ptr, ptr %addresses, i64 %k
  %address = load ptr, ptr %address.at
  %moved = getelementptr i8, ptr %address, i64 %move
  store ptr %moved, ptr %address.at
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %n
  br i1 %k.more, label %operand, label %axis.end
axis.end:
  %a.next = sub i64 %a, 1
  %is.outermost = icmp eq i64 %a, 0
  br i1 %is.outermost, label %compute, label %axis
compute:
  %along = urem i64 %row, %length
  %ahead = sub i64 %length, %along
  %left = sub i64 %stop, %row
  %count = call i64 @llvm.smin.i64(i64 %ahead, i64 %left)
  store i64 %count, ptr %run
  call void %loop(ptr %addresses, ptr %run, ptr %steps, ptr %uniforms)
  %row.next = add i64 %row, %count
  br label %check
end:
  ret void
}
