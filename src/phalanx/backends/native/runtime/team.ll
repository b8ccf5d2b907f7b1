; Copyright (c) 2026 The Phalanx developers
; SPDX-License-Identifier: MIT
;
; One state shared by threads: a program of phases, with a barrier between any two. The iterations of a phase are
; divided into one range for each rank, so that a thread finds in its caches what it stored in the phase before. A
; thread that is through with its own range takes from those of others: no thread waits for one that has not begun.
; The thread that ends the last iteration of a phase runs what is to run on one thread alone, and opens the next.
;
; The atomic word of a range: bits 32 to 63 the phase, 16 to 31 the first free iteration, 0 to 15 the end. A job is
; on the stack of its caller, who does not return before every thread has left it (workers.ll).

%range = type { i64, [56 x i8] }
; phase function, context, iterations by phase, phases, ranks; the phase under way; its iterations not done; ranges
%job = type { ptr, ptr, ptr, i64, i64, [24 x i8], i64, [56 x i8], i64, [56 x i8], [64 x %range] }

; Runs all phases of a state on this thread and on up to so many workers. At least one phase has several iterations.
define internal void @team(ptr %phase, ptr %context, ptr %sizes, i64 %count, i64 %most, i64 %helpers) nounwind {
entry:
  %job = alloca %job, align 64
  %walk = alloca %walk
  %threads = add i64 %helpers, 1
  %fewer = call i64 @llvm.smin.i64(i64 %threads, i64 %most)
  %ranks = call i64 @llvm.smin.i64(i64 %fewer, i64 64)
  store ptr %phase, ptr %job
  %context.at = getelementptr %job, ptr %job, i64 0, i32 1
  store ptr %context, ptr %context.at
  %sizes.at = getelementptr %job, ptr %job, i64 0, i32 2
  store ptr %sizes, ptr %sizes.at
  %count.at = getelementptr %job, ptr %job, i64 0, i32 3
  store i64 %count, ptr %count.at
  %ranks.at = getelementptr %job, ptr %job, i64 0, i32 4
  store i64 %ranks, ptr %ranks.at
  %now.at = getelementptr %job, ptr %job, i64 0, i32 6
  store i64 -1, ptr %now.at
  store ptr null, ptr %walk                                 ; no rows of a batch, but ranks of a job
  %job.at = getelementptr %walk, ptr %walk, i64 0, i32 1
  store ptr %job, ptr %job.at
  %start.at = getelementptr %walk, ptr %walk, i64 0, i32 4
  store i64 0, ptr %start.at
  %stop.at = getelementptr %walk, ptr %walk, i64 0, i32 5
  store i64 %ranks, ptr %stop.at
  %grain.at = getelementptr %walk, ptr %walk, i64 0, i32 6
  store i64 1, ptr %grain.at
  %pieces.at = getelementptr %walk, ptr %walk, i64 0, i32 7
  store i64 %ranks, ptr %pieces.at
  %others = sub i64 %ranks, 1
  call void @share(ptr %walk, i64 %others)
  ret void
}

; Computes a piece of what is shared: rows of a batch, or all that a rank of a job finds to do.
define internal void @piece(ptr %walk, i64 %start, i64 %stop) nounwind {
  %loop = load ptr, ptr %walk
  %is.job = icmp eq ptr %loop, null
  br i1 %is.job, label %rank, label %rows
rank:
  %job.at = getelementptr %walk, ptr %walk, i64 0, i32 1
  %job = load ptr, ptr %job.at
  call void @member(ptr %job, i64 %start)
  ret void
rows:
  call void @walk(ptr %walk, i64 %start, i64 %stop)
  ret void
}

; Takes part in a job until it is done. The caller's is rank 0, which opens the first phase.
define internal void @member(ptr %job, i64 %rank) nounwind {
entry:
  %phase = load ptr, ptr %job
  %context.at = getelementptr %job, ptr %job, i64 0, i32 1
  %context = load ptr, ptr %context.at
  %count.at = getelementptr %job, ptr %job, i64 0, i32 3
  %count = load i64, ptr %count.at
  %ranks.at = getelementptr %job, ptr %job, i64 0, i32 4
  %ranks = load i64, ptr %ranks.at
  %now.at = getelementptr %job, ptr %job, i64 0, i32 6
  %left.at = getelementptr %job, ptr %job, i64 0, i32 8
  %is.caller = icmp eq i64 %rank, 0
  br i1 %is.caller, label %open, label %look
open:
  call void @advance(ptr %job, i64 0)
  br label %look
look:
  %now = load atomic i64, ptr %now.at acquire, align 8
  %is.over = icmp sge i64 %now, %count
  br i1 %is.over, label %end, label %range
range:
  %k = phi i64 [ 0, %look ], [ %k.next, %other ]
  %sum = add i64 %rank, %k
  %r = urem i64 %sum, %ranks
  %word.at = getelementptr %job, ptr %job, i64 0, i32 10, i64 %r
  br label %try
try:
  %word = load atomic i64, ptr %word.at monotonic, align 8
  %of = lshr i64 %word, 32
  %is.now = icmp eq i64 %of, %now
  %down = lshr i64 %word, 16
  %first = and i64 %down, 65535
  %stop = and i64 %word, 65535
  %is.some = icmp ult i64 %first, %stop
  %good = and i1 %is.now, %is.some
  br i1 %good, label %take, label %other
take:                                                       ; of others' from the end
  %is.mine = icmp eq i64 %k, 0
  %step = select i1 %is.mine, i64 65536, i64 -1
  %last = sub i64 %stop, 1
  %i = select i1 %is.mine, i64 %first, i64 %last
  %next = add i64 %word, %step
  %pair = cmpxchg ptr %word.at, i64 %word, i64 %next acq_rel monotonic
  %is.taken = extractvalue { i64, i1 } %pair, 1
  br i1 %is.taken, label %run, label %try
other:
  %k.next = add i64 %k, 1
  %is.more = icmp ult i64 %k.next, %ranks
  br i1 %is.more, label %range, label %spin
run:
  %i.next = add i64 %i, 1
  call void %phase(ptr %context, i64 %now, i64 %i, i64 %i.next)
  %before = atomicrmw sub ptr %left.at, i64 1 acq_rel
  %is.last = icmp eq i64 %before, 1
  br i1 %is.last, label %close, label %look
close:
  %now.next = add i64 %now, 1
  call void @advance(ptr %job, i64 %now.next)
  br label %look
spin:                                                       ; others end in a moment, unless they have no core
  %polls = phi i64 [ 0, %other ], [ %polls.next, %still ]
  %current = load atomic i64, ptr %now.at acquire, align 8
  %is.new = icmp ne i64 %current, %now
  br i1 %is.new, label %look, label %wait
wait:
  $pause
  %polls.next = add i64 %polls, 1
  %is.long = icmp ugt i64 %polls.next, $looks
  br i1 %is.long, label %yield, label %still
yield:
  %yielded = call i32 @sched_yield()
  br label %still
still:
  br label %spin
end:
  ret void
}

; Opens a phase, after all that stand before it and run on one thread; the last one ends the job.
define internal void @advance(ptr %job, i64 %from) nounwind {
entry:
  %phase = load ptr, ptr %job
  %context.at = getelementptr %job, ptr %job, i64 0, i32 1
  %context = load ptr, ptr %context.at
  %sizes.at = getelementptr %job, ptr %job, i64 0, i32 2
  %sizes = load ptr, ptr %sizes.at
  %count.at = getelementptr %job, ptr %job, i64 0, i32 3
  %count = load i64, ptr %count.at
  %ranks.at = getelementptr %job, ptr %job, i64 0, i32 4
  %ranks = load i64, ptr %ranks.at
  %now.at = getelementptr %job, ptr %job, i64 0, i32 6
  %left.at = getelementptr %job, ptr %job, i64 0, i32 8
  br label %look
look:
  %number = phi i64 [ %from, %entry ], [ %number.next, %alone ]
  %is.over = icmp sge i64 %number, %count
  br i1 %is.over, label %publish, label %kind
kind:
  %size.at = getelementptr i64, ptr %sizes, i64 %number
  %size = load i64, ptr %size.at
  %is.alone = icmp eq i64 %size, 0
  br i1 %is.alone, label %alone, label %open
alone:
  call void %phase(ptr %context, i64 %number, i64 0, i64 0)
  %number.next = add i64 %number, 1
  br label %look
open:
  store atomic i64 %size, ptr %left.at monotonic, align 8
  %upper = shl i64 %number, 32
  br label %rank
rank:
  %r = phi i64 [ 0, %open ], [ %r.next, %rank ]
  %first = phi i64 [ 0, %open ], [ %stop, %rank ]
  %r.next = add i64 %r, 1
  %share = mul i64 %r.next, %size
  %stop = udiv i64 %share, %ranks
  %first.up = shl i64 %first, 16
  %lower = or i64 %first.up, %stop
  %word = or i64 %upper, %lower
  %word.at = getelementptr %job, ptr %job, i64 0, i32 10, i64 %r
  store atomic i64 %word, ptr %word.at monotonic, align 8
  %is.more = icmp ult i64 %r.next, %ranks
  br i1 %is.more, label %rank, label %publish
publish:
  store atomic i64 %number, ptr %now.at release, align 8
  ret void
}
