; Copyright (c) 2026 The Phalanx developers
; SPDX-License-Identifier: MIT
;
; Workers that compute segments of a schedule and exchange messages through mailboxes, without locks.
;
; Every message has a word of its own, which says for which block of states the numbers in its mailbox are. The sender
; writes the numbers and then the word (release); the receiver reads the word (acquire) until it is there, then the
; numbers. Mailboxes of some blocks in a row lie in a ring: a worker starts a block when all workers have ended the one
; whose mailboxes it will write. Words with a dollar sign are filled in by mailboxes.py.

; steps, their number, rows of inputs and outputs, local values, mailboxes, words of messages, control, blocks, vectors
; in a block, states in a vector, bytes of local values and of mailboxes of a vector, ring, own number, workers, spins,
; times, first block, messages
%worker = type { ptr, i64, ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64, i64, i64, i64, i64, i64, ptr, i64, i64 }
%step = type { i64, i64, ptr }                              ; 0 receive, 1 compute, 2 send; message; segment

declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
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
  %begun = call i64 @now()
  store i64 %begun, ptr %times
  %slot.words = mul i64 %messages, 64
  %slot.mail = mul i64 %vectors, %mail.bytes
  br label %block
block:
  %b = phi i64 [ 0, %begin ], [ %b.next, %done ]
  %sequence = add i64 %first, %b
  %sequence.next = add i64 %sequence, 1
  %free = sub i64 %sequence.next, %ring
  br label %other
other:                                                      ; all have ended the block whose mailboxes come next
  %p = phi i64 [ 0, %block ], [ %p.next, %other.done ]
  %other.offset = mul i64 %p, 64
  %other.at = getelementptr i8, ptr %done.all, i64 %other.offset
  %other.status = call i64 @await(ptr %other.at, i64 %free, ptr %control, i64 %spins)
  %other.over = icmp ne i64 %other.status, 0
  br i1 %other.over, label %over, label %other.done
other.done:
  %p.next = add i64 %p, 1
  %p.more = icmp slt i64 %p.next, %workers
  br i1 %p.more, label %other, label %inside
inside:
  %slot = urem i64 %sequence, %ring
  %words.offset = mul i64 %slot, %slot.words
  %words = getelementptr i8, ptr %words.all, i64 %words.offset
  %mail.offset = mul i64 %slot, %slot.mail
  %mail = getelementptr i8, ptr %mail.all, i64 %mail.offset
  %block.states = mul i64 %vectors, %lanes
  %state.first = mul i64 %b, %block.states
  br label %step
step:
  %k = phi i64 [ 0, %inside ], [ %k.next, %timed ]
  %k.any = icmp slt i64 %k, %count
  br i1 %k.any, label %act, label %done
act:
  %step.at = getelementptr %step, ptr %steps, i64 %k
  %kind = load i64, ptr %step.at
  %message.at = getelementptr %step, ptr %step.at, i64 0, i32 1
  %message = load i64, ptr %message.at
  %word.offset = mul i64 %message, 64
  %word = getelementptr i8, ptr %words, i64 %word.offset
  switch i64 %kind, label %compute [ i64 0, label %receive
                                     i64 2, label %send ]
receive:
  %status = call i64 @await(ptr %word, i64 %sequence.next, ptr %control, i64 %spins)
  %is.over = icmp ne i64 %status, 0
  br i1 %is.over, label %over, label %time
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
  %locals.own = getelementptr i8, ptr %locals, i64 %v.locals
  %v.mail = mul i64 %v, %mail.bytes
  %mail.own = getelementptr i8, ptr %mail, i64 %v.mail
  call void %segment(ptr %rows, i64 %state, ptr %locals.own, ptr %mail.own)
  %v.next = add i64 %v, 1
  %v.more = icmp slt i64 %v.next, %vectors
  br i1 %v.more, label %vector, label %time
time:                                                       ; those of the last block stay
  %moment = call i64 @now()
  %time.number = add i64 %k, 2
  %time.at = getelementptr i64, ptr %times, i64 %time.number
  store i64 %moment, ptr %time.at
  br label %timed
timed:
  %k.next = add i64 %k, 1
  br label %step
done:
  store atomic i64 %sequence.next, ptr %done.own release, align 8
  %b.next = add i64 %b, 1
  %b.more = icmp slt i64 %b.next, %blocks
  br i1 %b.more, label %block, label %end
end:
  %ended = call i64 @now()
  %ended.at = getelementptr i64, ptr %times, i64 1
  store i64 %ended, ptr %ended.at
  ret i64 0
over:
  ret i64 1
}
