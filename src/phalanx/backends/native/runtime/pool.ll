; Copyright (c) 2026 The Phalanx developers
; SPDX-License-Identifier: MIT
;
; A pool for large blocks of scratch memory. C libraries return such blocks to the system, which maps them again
; page by page, slower than some kernels run: the pool, shared by all kernels of the process, retains the last
; one. A block begins with its size.

@pool = external global ptr

define internal ptr @take(i64 %bytes) noinline nounwind {
  %kept = atomicrmw xchg ptr @pool, ptr null seq_cst
  %empty = icmp eq ptr %kept, null
  br i1 %empty, label %fresh, label %look
look:
  %has = load i64, ptr %kept
  %enough = icmp uge i64 %has, %bytes
  br i1 %enough, label %found, label %drop
found:
  ret ptr %kept
drop:
  call void @free(ptr %kept)
  br label %fresh
fresh:
  %made = call ptr @malloc(i64 %bytes)
  %none = icmp eq ptr %made, null
  br i1 %none, label %end, label %note
note:
  store i64 %bytes, ptr %made
  br label %end
end:
  ret ptr %made
}

define internal void @give(ptr %block) noinline nounwind {
  %before = atomicrmw xchg ptr @pool, ptr %block seq_cst
  call void @free(ptr %before)
  ret void
}
