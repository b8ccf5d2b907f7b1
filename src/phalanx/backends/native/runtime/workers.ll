; Copyright (c) 2026 The Phalanx developers
; SPDX-License-Identifier: MIT
;
; Threads that share the rows of a batch. Workers wait here, in machine code, and so need no GIL to wake up.
;
; A batch is split into pieces and published in a slot. The atomic word of a slot holds all that is contended for:
;
;   bits 48 to 63   generation of the slot: a worker admitted to one batch is not admitted to the next
;   bits 32 to 47   workers that may still join
;   bits 16 to 31   the first free piece: the caller takes from here
;   bits  0 to 15   the end of the free pieces: workers take from there
;
; A thread that takes a piece owns it: the caller does not return before it is done, so that its arrays and its
; stack live that long. No thread reads them without owning a piece, and none waits for a worker that owns none.
; Slots are never freed, so that reading one is always safe.

%slot = type { i64, [56 x i8], i64, i64, ptr, [40 x i8] }    ; word; pieces done, whether the caller sleeps, its walk

@slots = internal global [64 x %slot] zeroinitializer, align 64
@taken = internal global i64 0, align 64                    ; a bit for each slot in use
@posted = internal global i64 0, align 64                   ; batches so far: workers watch it
@spinning = internal global i64 0, align 64                 ; workers that watch it awake
@sleeping = internal global i64 0, align 64                 ; and asleep
@mutex = internal global [128 x i8] zeroinitializer, align 64
@called = internal global [128 x i8] zeroinitializer, align 64
@finished = internal global [128 x i8] zeroinitializer, align 64

declare i64 @llvm.cttz.i64(i64, i1)
$declarations

; Resets all state in a forked child, which has no workers.
define void @reset() nounwind {
  call void @llvm.memset.p0.i64(ptr @slots, i8 0, i64 8192, i1 false)
  store i64 0, ptr @taken
  store i64 0, ptr @posted
  store i64 0, ptr @spinning
  store i64 0, ptr @sleeping
  %a = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %b = call i32 @pthread_cond_init(ptr @called, ptr null)
  %c = call i32 @pthread_cond_init(ptr @finished, ptr null)
  ret void
}

; Runs an iteration on this thread and on up to so many workers; returns when all rows are done.
define internal void @share(ptr %walk, i64 %helpers) nounwind {
entry:
  %pieces.at = getelementptr %walk, ptr %walk, i64 0, i32 7
  %pieces = load i64, ptr %pieces.at
  br label %find
find:
  %used = load atomic i64, ptr @taken monotonic, align 8
  %free = xor i64 %used, -1
  %is.full = icmp eq i64 %free, 0
  br i1 %is.full, label %alone, label %claim
claim:
  %number = call i64 @llvm.cttz.i64(i64 %free, i1 true)
  %bit = shl i64 1, %number
  %used.more = or i64 %used, %bit
  %pair = cmpxchg ptr @taken, i64 %used, i64 %used.more acq_rel monotonic
  %is.mine = extractvalue { i64, i1 } %pair, 1
  br i1 %is.mine, label %post, label %find
alone:                                                      ; more batches at once than slots
  %start.at = getelementptr %walk, ptr %walk, i64 0, i32 4
  %start = load i64, ptr %start.at
  %stop.at = getelementptr %walk, ptr %walk, i64 0, i32 5
  %stop = load i64, ptr %stop.at
  call void @piece(ptr %walk, i64 %start, i64 %stop)
  ret void
post:
  %slot = getelementptr %slot, ptr @slots, i64 %number
  %done.at = getelementptr %slot, ptr %slot, i64 0, i32 2
  store atomic i64 0, ptr %done.at monotonic, align 8
  %asleep.at = getelementptr %slot, ptr %slot, i64 0, i32 3
  store atomic i64 0, ptr %asleep.at monotonic, align 8
  %walk.at = getelementptr %slot, ptr %slot, i64 0, i32 4
  store ptr %walk, ptr %walk.at
  %old = load atomic i64, ptr %slot monotonic, align 8
  %generation = and i64 %old, -281474976710656              ; the upper 16 bits
  %generation.next = add i64 %generation, 281474976710656
  %places = shl i64 %helpers, 32
  %word.upper = or i64 %generation.next, %places
  %word = or i64 %word.upper, %pieces
  store atomic i64 %word, ptr %slot seq_cst, align 8
  %batches = atomicrmw add ptr @posted, i64 1 seq_cst
  call void @call_workers(i64 %helpers)
  br label %take
take:
  %front = call i64 @taken_piece(ptr %slot, i64 65536, i64 0, i64 0)
  %is.over = icmp eq i64 %front, 0
  br i1 %is.over, label %look, label %compute
compute:
  %front.down = lshr i64 %front, 16
  %piece = and i64 %front.down, 65535
  call void @compute(ptr %slot, i64 %piece)
  br label %take
look:                                                       ; others end in a moment, or sleep meanwhile
  %i = phi i64 [ 0, %take ], [ %i.next, %again ]
  %done = load atomic i64, ptr %done.at acquire, align 8
  %is.done = icmp eq i64 %done, %pieces
  br i1 %is.done, label %end, label %again
again:
  $pause
  %i.next = add i64 %i, 1
  %is.long = icmp eq i64 %i.next, $looks
  br i1 %is.long, label %sleep, label %look
sleep:
  %lock = call i32 @pthread_mutex_lock(ptr @mutex)
  store atomic i64 1, ptr %asleep.at seq_cst, align 8
  br label %check
check:
  %done.now = load atomic i64, ptr %done.at seq_cst, align 8
  %is.done.now = icmp eq i64 %done.now, %pieces
  br i1 %is.done.now, label %awake, label %wait
wait:
  %waited = call i32 @pthread_cond_wait(ptr @finished, ptr @mutex)
  $pause
  br label %check
awake:
  %unlock = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %end
end:
  %not = xor i64 %bit, -1
  %before = atomicrmw and ptr @taken, i64 %not acq_rel
  ret void
}

; Wakes as many sleeping workers as are needed beyond those awake.
define internal void @call_workers(i64 %helpers) nounwind {
entry:
  %awake = load atomic i64, ptr @spinning seq_cst, align 8
  %asleep = load atomic i64, ptr @sleeping seq_cst, align 8
  %short = sub i64 %helpers, %awake
  %count = call i64 @llvm.smin.i64(i64 %short, i64 %asleep)
  %is.some = icmp sgt i64 %count, 0
  br i1 %is.some, label %lock, label %end
lock:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %signal
signal:
  %k = phi i64 [ %count, %lock ], [ %k.next, %signal ]
  %called = call i32 @pthread_cond_signal(ptr @called)
  %k.next = sub i64 %k, 1
  %is.more = icmp sgt i64 %k.next, 0
  br i1 %is.more, label %signal, label %unlock
unlock:
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %end
end:
  ret void
}

; The word of a slot before a piece was taken from it, 0 if there is none to take. %step is what taking one adds to
; the word; bits of the word under the mask must be those given; a step that admits a worker needs a free place.
define internal i64 @taken_piece(ptr %slot, i64 %step, i64 %mask, i64 %bits) nounwind {
entry:
  br label %look
look:
  %word = load atomic i64, ptr %slot acquire, align 8
  %down = lshr i64 %word, 16
  %first = and i64 %down, 65535
  %end = and i64 %word, 65535
  %is.some = icmp ult i64 %first, %end
  %masked = and i64 %word, %mask
  %is.same = icmp eq i64 %masked, %bits
  %places = and i64 %word, 281470681743360                  ; bits 32 to 47
  %has.place = icmp ne i64 %places, 0
  %has.already = icmp sge i64 %step, -1
  %may = or i1 %has.place, %has.already
  %open = and i1 %is.some, %is.same
  %good = and i1 %open, %may
  br i1 %good, label %try, label %none
try:
  %next = add i64 %word, %step
  %pair = cmpxchg ptr %slot, i64 %word, i64 %next acq_rel monotonic
  %is.mine = extractvalue { i64, i1 } %pair, 1
  br i1 %is.mine, label %mine, label %look
mine:
  ret i64 %word
none:
  ret i64 0
}

; Computes a piece that this thread owns, and wakes the caller if it was the last and the caller sleeps.
define internal void @compute(ptr %slot, i64 %piece) nounwind {
entry:
  %walk.at = getelementptr %slot, ptr %slot, i64 0, i32 4
  %walk = load ptr, ptr %walk.at
  %start.at = getelementptr %walk, ptr %walk, i64 0, i32 4
  %start = load i64, ptr %start.at
  %stop.at = getelementptr %walk, ptr %walk, i64 0, i32 5
  %stop = load i64, ptr %stop.at
  %grain.at = getelementptr %walk, ptr %walk, i64 0, i32 6
  %grain = load i64, ptr %grain.at
  %pieces.at = getelementptr %walk, ptr %walk, i64 0, i32 7
  %pieces = load i64, ptr %pieces.at
  %offset = mul i64 %piece, %grain
  %from = add i64 %start, %offset
  %from.next = add i64 %from, %grain
  %to = call i64 @llvm.smin.i64(i64 %from.next, i64 %stop)
  call void @piece(ptr %walk, i64 %from, i64 %to)
  ; The iteration is freed as soon as its last piece is counted.
  %done.at = getelementptr %slot, ptr %slot, i64 0, i32 2
  %before = atomicrmw add ptr %done.at, i64 1 seq_cst
  %done = add i64 %before, 1
  %asleep.at = getelementptr %slot, ptr %slot, i64 0, i32 3
  %asleep = load atomic i64, ptr %asleep.at seq_cst, align 8
  %is.last = icmp eq i64 %done, %pieces
  %is.asleep = icmp ne i64 %asleep, 0
  %wake = and i1 %is.last, %is.asleep
  br i1 %wake, label %tell, label %end
tell:
  %lock = call i32 @pthread_mutex_lock(ptr @mutex)
  %woken = call i32 @pthread_cond_broadcast(ptr @finished)
  %unlock = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %end
end:
  ret void
}

; The main function of a worker: computes pieces of any batch it may join, spins for a moment, and sleeps until it
; is woken; where the C library has nothing to sleep with, it returns instead.
define void @serve(i1 zeroext %sleeps) nounwind {
entry:
  %time = alloca [2 x i64]
  %born = call i64 @now(ptr %time)
  br label %scan
scan:
  %busy = phi i64 [ %born, %entry ], [ %idle, %seen ], [ %ended, %rest ], [ %woken, %called ]    ; when last
  %seq = load atomic i64, ptr @posted seq_cst, align 8
  %used = load atomic i64, ptr @taken seq_cst, align 8
  br label %next
next:
  %bits = phi i64 [ %used, %scan ], [ %bits.less, %other ]
  %is.none = icmp eq i64 %bits, 0
  br i1 %is.none, label %watch, label %try
try:
  %number = call i64 @llvm.cttz.i64(i64 %bits, i1 true)
  %slot = getelementptr %slot, ptr @slots, i64 %number
  %word = call i64 @taken_piece(ptr %slot, i64 -4294967297, i64 0, i64 0)  ; a place, and the last piece
  %is.closed = icmp eq i64 %word, 0
  br i1 %is.closed, label %other, label %work
other:
  %bits.one = sub i64 %bits, 1
  %bits.less = and i64 %bits, %bits.one
  br label %next
work:
  %piece.of = phi i64 [ %word, %try ], [ %word.next, %more ]
  %generation = and i64 %piece.of, -281474976710656
  %end = and i64 %piece.of, 65535
  %piece = sub i64 %end, 1
  call void @compute(ptr %slot, i64 %piece)
  br label %more
more:
  %word.next = call i64 @taken_piece(ptr %slot, i64 -1, i64 -281474976710656, i64 %generation)
  %is.over = icmp eq i64 %word.next, 0
  br i1 %is.over, label %rest, label %work
rest:
  %ended = call i64 @now(ptr %time)
  br label %scan
watch:
  %idle = phi i64 [ %busy, %next ]
  %plus = atomicrmw add ptr @spinning, i64 1 seq_cst
  br label %spin
spin:
  %i = phi i64 [ 0, %watch ], [ %i.next, %still ], [ 0, %patient ], [ 0, %yield ]
  %current = load atomic i64, ptr @posted seq_cst, align 8
  %is.new = icmp ne i64 %current, %seq
  br i1 %is.new, label %seen, label %still
seen:
  %minus = atomicrmw sub ptr @spinning, i64 1 seq_cst
  br label %scan
still:
  $pause
  %i.next = add i64 %i, 1
  %is.round = icmp eq i64 %i.next, 64
  br i1 %is.round, label %clock, label %spin
clock:
  %moment = call i64 @now(ptr %time)
  %awake = sub i64 %moment, %idle
  %is.tired = icmp sge i64 %awake, $awake
  br i1 %is.tired, label %tired, label %patient
patient:
  %is.long = icmp sge i64 %awake, $polite
  br i1 %is.long, label %yield, label %spin
yield:                                                      ; others may want the core
  %yielded = call i32 @sched_yield()
  br label %spin
tired:
  %minus.too = atomicrmw sub ptr @spinning, i64 1 seq_cst
  br i1 %sleeps, label %sleep, label %leave
leave:
  ret void
sleep:
  %lock = call i32 @pthread_mutex_lock(ptr @mutex)
  %plus.asleep = atomicrmw add ptr @sleeping, i64 1 seq_cst
  br label %check
check:
  %now = load atomic i64, ptr @posted seq_cst, align 8
  %is.same = icmp eq i64 %now, %seq
  br i1 %is.same, label %wait, label %called
wait:
  %waited = call i32 @pthread_cond_wait(ptr @called, ptr @mutex)
  br label %check
called:
  %minus.asleep = atomicrmw sub ptr @sleeping, i64 1 seq_cst
  %unlock = call i32 @pthread_mutex_unlock(ptr @mutex)
  %woken = call i64 @now(ptr %time)
  br label %scan
}

; Nanoseconds of a monotonic clock.
define internal i64 @now(ptr %time) nounwind {
  $clock
}
