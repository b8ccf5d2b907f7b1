; Copyright (c) 2026 The Phalanx developers
; SPDX-License-Identifier: MIT
;
; Workers that compute segments of a schedule and exchange messages through mailboxes, without locks.
;
; Every message has a word of its own, which says for which block of states the numbers in its mailbox are. The sender
; writes the numbers and then the word (release); the receiver reads the word (acquire) until it is there, then the
; numbers. Mailboxes of some blocks in a row lie in a ring: a worker starts a block when all workers have ended the one
; whose mailboxes it will write. A worker whose oldest block waits for a message goes on with the next one, so that
; chains of messages to and fro overlap; each block of the ring has local values and a position of its own.
; Words with a dollar sign are filled in by mailboxes.py.

; steps, their number, rows of inputs and outputs, local values, mailboxes, words of messages, control, blocks, vectors
; in a block, states in a vector, bytes of local values and of mailboxes of a vector, ring, own number, workers, spins,
; times, first block, messages, positions in the blocks of the ring
%worker = type { ptr, i64, ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64, i64, i64, i64, i64, i64, ptr, i64, i64, ptr }
%step = type { i64, i64, ptr }                              ; 0 receive, 1 compute, 2 send; message; segment

declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i64 @llvm.smin.i64(i64, i64)
$declarations

; Nanoseconds of a clock that only goes forwards.
define internal i64 @now() nounwind noinline {
  %time = alloca [2 x i64]
  $clock
}

; 0 when a word is at least so large, 1 if the run is given up. Spins for a while, then lets others have the core.
define internal i64 @await(ptr %word, i64 %wanted, ptr %control, i64 %spins) nounwind {
entry:
  br label %look
look:
  %k = phi i64 [ %spins, %entry ], [ %k.next, %spin ], [ $few, %yield ]
  %found = load atomic i64, ptr %word acquire, align 8
  %is.there = icmp sge i64 %found, %wanted
  br i1 %is.there, label %there, label %wait
wait:
  %k.next = sub i64 %k, 1
  %is.long = icmp sle i64 %k, 0
  br i1 %is.long, label %ask, label %spin
spin:
  $pause
  br label %look
ask:
  %given.up = load atomic i64, ptr %control monotonic, align 8
  %is.over = icmp ne i64 %given.up, 0
  br i1 %is.over, label %over, label %yield
yield:
  %yielded = call i32 @sched_yield()
  br label %look
there:
  ret i64 0
over:
  ret i64 1
}

; All blocks of a worker; 0 when done, 1 if the run is given up. Control begins with the word that gives up, then the
; number of workers that have started, then the blocks that each worker has ended, each in a cache line of its own.
define i64 @work(ptr %w) nounwind {
entry:
  %steps = load ptr, ptr %w
  %count.at = getelementptr %worker, ptr %w, i64 0, i32 1
  %count = load i64, ptr %count.at
  %rows.at = getelementptr %worker, ptr %w, i64 0, i32 2
  %rows = load ptr, ptr %rows.at
  %locals.at = getelementptr %worker, ptr %w, i64 0, i32 3
  %locals = load ptr, ptr %locals.at
  %mail.at = getelementptr %worker, ptr %w, i64 0, i32 4
  %mail.all = load ptr, ptr %mail.at
  %words.at = getelementptr %worker, ptr %w, i64 0, i32 5
  %words.all = load ptr, ptr %words.at
  %control.at = getelementptr %worker, ptr %w, i64 0, i32 6
  %control = load ptr, ptr %control.at
  %blocks.at = getelementptr %worker, ptr %w, i64 0, i32 7
  %blocks = load i64, ptr %blocks.at
  %vectors.at = getelementptr %worker, ptr %w, i64 0, i32 8
  %vectors = load i64, ptr %vectors.at
  %lanes.at = getelementptr %worker, ptr %w, i64 0, i32 9
  %lanes = load i64, ptr %lanes.at
  %local.bytes.at = getelementptr %worker, ptr %w, i64 0, i32 10
  %local.bytes = load i64, ptr %local.bytes.at
  %mail.bytes.at = getelementptr %worker, ptr %w, i64 0, i32 11
  %mail.bytes = load i64, ptr %mail.bytes.at
  %ring.at = getelementptr %worker, ptr %w, i64 0, i32 12
  %ring = load i64, ptr %ring.at
  %own.at = getelementptr %worker, ptr %w, i64 0, i32 13
  %own = load i64, ptr %own.at
  %workers.at = getelementptr %worker, ptr %w, i64 0, i32 14
  %workers = load i64, ptr %workers.at
  %spins.at = getelementptr %worker, ptr %w, i64 0, i32 15
  %spins = load i64, ptr %spins.at
  %times.at = getelementptr %worker, ptr %w, i64 0, i32 16
  %times = load ptr, ptr %times.at
  %first.at = getelementptr %worker, ptr %w, i64 0, i32 17
  %first = load i64, ptr %first.at
  %messages.at = getelementptr %worker, ptr %w, i64 0, i32 18
  %messages = load i64, ptr %messages.at
  %done.all = getelementptr i8, ptr %control, i64 128
  %done.offset = mul i64 %own, 64
  %done.own = getelementptr i8, ptr %done.all, i64 %done.offset
  %started = getelementptr i8, ptr %control, i64 64
  %before = atomicrmw add ptr %started, i64 1 acq_rel
  %start.round = udiv i64 %before, %workers
  %start.next = add i64 %start.round, 1
  %start.all = mul i64 %start.next, %workers
  %start.status = call i64 @await(ptr %started, i64 %start.all, ptr %control, i64 %spins)
  %start.over = icmp ne i64 %start.status, 0
  br i1 %start.over, label %over, label %begin
begin:
  %positions.at = getelementptr %worker, ptr %w, i64 0, i32 19
  %positions = load ptr, ptr %positions.at
  %begun = call i64 @now()
  store i64 %begun, ptr %times
  %slot.words = mul i64 %messages, 64
  %slot.mail = mul i64 %vectors, %mail.bytes
  %slot.locals = mul i64 %vectors, %local.bytes
  %block.states = mul i64 %vectors, %lanes
  %last = sub i64 %blocks, 1
  %patience.at = alloca i64                                 ; less after a wait in vain: the core may have other work
  store i64 %spins, ptr %patience.at
  br label %oldest
oldest:                                                     ; something has been done: the oldest block comes first
  %old = phi i64 [ 0, %begin ], [ %old, %moved ], [ %old.next, %ended.block ]
  %fresh = phi i64 [ 0, %begin ], [ %fresh.now, %moved ], [ %fresh.now, %ended.block ]
  %patience = load i64, ptr %patience.at
  %patience.twice = mul i64 %patience, 2
  %patience.next = call i64 @llvm.smin.i64(i64 %patience.twice, i64 %spins)
  store i64 %patience.next, ptr %patience.at
  br label %scan
scan:
  %polls = phi i64 [ %patience, %oldest ], [ %polls.next, %spin ], [ $few, %yield ]
  %fresh.then = phi i64 [ %fresh, %oldest ], [ %fresh.idle, %spin ], [ %fresh.idle, %yield ]
  br label %block
block:
  %b = phi i64 [ %old, %scan ], [ %b.next, %stuck ]
  %fresh.here = phi i64 [ %fresh.then, %scan ], [ %fresh.now, %stuck ]
  %sequence = add i64 %first, %b
  %sequence.next = add i64 %sequence, 1
  %slot = urem i64 %sequence, %ring
  %position.at = getelementptr i64, ptr %positions, i64 %slot
  %is.known = icmp slt i64 %b, %fresh.here
  br i1 %is.known, label %inside, label %may.begin
may.begin:
  %in.flight = sub i64 %b, %old
  %is.room = icmp slt i64 %in.flight, %ring
  %is.block = icmp slt i64 %b, %blocks
  %is.more = and i1 %is.room, %is.block
  br i1 %is.more, label %free.from, label %idle
free.from:
  %free = sub i64 %sequence.next, %ring
  br label %other
other:                                                      ; all have ended the block whose mailboxes come next
  %p = phi i64 [ 0, %free.from ], [ %p.next, %other.done ]
  %other.offset = mul i64 %p, 64
  %other.at = getelementptr i8, ptr %done.all, i64 %other.offset
  %other.ended = load atomic i64, ptr %other.at acquire, align 8
  %is.free = icmp sge i64 %other.ended, %free
  br i1 %is.free, label %other.done, label %idle
other.done:
  %p.next = add i64 %p, 1
  %p.more = icmp slt i64 %p.next, %workers
  br i1 %p.more, label %other, label %new
new:
  store i64 0, ptr %position.at
  %fresh.new = add i64 %b, 1
  br label %inside
inside:
  %fresh.now = phi i64 [ %fresh.here, %block ], [ %fresh.new, %new ]
  %words.offset = mul i64 %slot, %slot.words
  %words = getelementptr i8, ptr %words.all, i64 %words.offset
  %mail.offset = mul i64 %slot, %slot.mail
  %mail = getelementptr i8, ptr %mail.all, i64 %mail.offset
  %locals.offset = mul i64 %slot, %slot.locals
  %locals.slot = getelementptr i8, ptr %locals, i64 %locals.offset
  %state.first = mul i64 %b, %block.states
  %is.timed = icmp eq i64 %b, %last
  %k.first = load i64, ptr %position.at
  br label %step
step:
  %k = phi i64 [ %k.first, %inside ], [ %k.next, %timed ]
  %k.any = icmp slt i64 %k, %count
  br i1 %k.any, label %act, label %through
act:
  %step.at = getelementptr %step, ptr %steps, i64 %k
  %kind = load i64, ptr %step.at
  %message.at = getelementptr %step, ptr %step.at, i64 0, i32 1
  %message = load i64, ptr %message.at
  %word.offset = mul i64 %message, 64
  %word = getelementptr i8, ptr %words, i64 %word.offset
  %time.pair = mul i64 %k, 2
  %time.number = add i64 %time.pair, 2
  %time.at = getelementptr i64, ptr %times, i64 %time.number
  br i1 %is.timed, label %time.before, label %choose
time.before:
  %moment.before = call i64 @now()
  store i64 %moment.before, ptr %time.at
  br label %choose
choose:
  switch i64 %kind, label %compute [ i64 0, label %receive
                                     i64 2, label %send ]
receive:
  %found = load atomic i64, ptr %word acquire, align 8
  %is.there = icmp sge i64 %found, %sequence.next
  br i1 %is.there, label %time, label %through
send:
  store atomic i64 %sequence.next, ptr %word release, align 8
  br label %time
compute:
  %segment.at = getelementptr %step, ptr %step.at, i64 0, i32 2
  %segment = load ptr, ptr %segment.at
  br label %vector
vector:
  %v = phi i64 [ 0, %compute ], [ %v.next, %vector ]
  %v.states = mul i64 %v, %lanes
  %state = add i64 %state.first, %v.states
  %v.locals = mul i64 %v, %local.bytes
  %locals.own = getelementptr i8, ptr %locals.slot, i64 %v.locals
  %v.mail = mul i64 %v, %mail.bytes
  %mail.own = getelementptr i8, ptr %mail, i64 %v.mail
  call void %segment(ptr %rows, i64 %state, ptr %locals.own, ptr %mail.own)
  %v.next = add i64 %v, 1
  %v.more = icmp slt i64 %v.next, %vectors
  br i1 %v.more, label %vector, label %time
time:                                                       ; of the last block: when a step begins and ends
  br i1 %is.timed, label %time.after, label %timed
time.after:
  %moment = call i64 @now()
  %time.end = getelementptr i64, ptr %time.at, i64 1
  store i64 %moment, ptr %time.end
  br label %timed
timed:
  %k.next = add i64 %k, 1
  br label %step
through:                                                    ; to the end, or to a message that is not there
  store i64 %k, ptr %position.at
  %is.ended = icmp sge i64 %k, %count
  %is.oldest = icmp eq i64 %b, %old
  %is.retired = and i1 %is.ended, %is.oldest
  br i1 %is.retired, label %ended.block, label %unended
unended:
  %is.moved = icmp ne i64 %k, %k.first
  br i1 %is.moved, label %moved, label %stuck
moved:
  br label %oldest
stuck:
  %b.next = add i64 %b, 1
  br label %block
ended.block:
  store atomic i64 %sequence.next, ptr %done.own release, align 8
  %old.next = add i64 %b, 1
  %is.all = icmp sge i64 %old.next, %blocks
  br i1 %is.all, label %end, label %oldest
idle:                                                       ; every block waits: spin, then let others have the core
  %fresh.idle = phi i64 [ %fresh.here, %may.begin ], [ %fresh.here, %other ]
  %polls.next = sub i64 %polls, 1
  %is.long = icmp sle i64 %polls, 0
  br i1 %is.long, label %ask, label %spin
spin:
  $pause
  br label %scan
ask:
  %given.up = load atomic i64, ptr %control monotonic, align 8
  %is.over = icmp ne i64 %given.up, 0
  br i1 %is.over, label %over, label %yield
yield:
  store i64 $few, ptr %patience.at
  %yielded = call i32 @sched_yield()
  br label %scan
end:
  %ended = call i64 @now()
  %ended.at = getelementptr i64, ptr %times, i64 1
  store i64 %ended, ptr %ended.at
  ret i64 0
over:
  ret i64 1
}
