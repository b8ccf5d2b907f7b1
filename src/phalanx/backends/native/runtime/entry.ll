; Copyright (c) 2026 The Phalanx developers
; SPDX-License-Identifier: MIT
;
; The functions that Python calls, for all kernels alike, with all argument checks of machine code.
; objects.py fills in words with a dollar sign.
;
;   direct(in…, out)                              all states, on this thread
;   direct(in…, out, start, stop, grain, helpers) some rows of the batch, with the help of other threads; a single
;                                                 state whose program has parallel phases is shared by them
;   bound()                                       the loop on arrays fixed beforehand
;   vectorcall                                    what Python calls for a NumPy ufunc of a kernel
;
; direct returns True, or touches nothing and returns False: then the slow path converts arrays or raises an error.
; refer increments the reference count of None, True or False before Python 3.12; since then they are immortal.

%core = type { i32, i32, [3 x i64] }                        ; an operand: axes beside the batch, flags, lengths
; dtype, loop, single, uniforms, number of operands, shared (null if there are no phases), operands (output last)
%kernel = type { ptr, ptr, ptr, ptr, i64, ptr, [0 x %core] }
; loop, uniforms, arguments, dimensions, steps; shared (null if one thread runs the loop), helpers
%binding = type { ptr, ptr, ptr, ptr, ptr, ptr, i64 }
; loop, uniforms, operands, axes, start, stop, grain, pieces, addresses, lengths, strides [axis][operand], steps
%walk = type { ptr, ptr, i64, i64, i64, i64, i64, i64, ptr, ptr, ptr, ptr }

@True = external global i8
@False = external global i8
@None = external global i8
@ndarray = external global i8
@NotImplemented = external global i8
@lazily = external global i8                                ; a function of Python, for what is no array
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i64 @PyLong_AsSsize_t(ptr)
declare ptr @PyMethod_New(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare void @Py_DecRef(ptr)
declare ptr @ufunc(ptr, ptr, i64, ptr)                      ; what NumPy calls for every ufunc
declare ptr @PyErr_Occurred()
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)

define ptr @direct(ptr %self, ptr %args, i64 %count) nounwind {
entry:
  %addresses = alloca [$operands x ptr]
  %kernel = getelementptr i8, ptr %self, i64 $data
  %dtype = load ptr, ptr %kernel
  %n.at = getelementptr %kernel, ptr %kernel, i64 0, i32 4
  %n = load i64, ptr %n.at
  %last = sub i64 %n, 1
  %more = add i64 %n, 4
  %all = icmp eq i64 %count, %n
  %some = icmp eq i64 %count, %more
  %enough = or i1 %all, %some
  br i1 %enough, label %operand, label %refuse
operand:
  %k = phi i64 [ %last, %entry ], [ %k.next, %next ]
  %flags.all = phi i32 [ $contiguous, %entry ], [ %flags.both, %next ]
  %batch.any = phi i64 [ 0, %entry ], [ %batch.any.next, %next ]                ; 0 if none has a batch
  %object.at = getelementptr ptr, ptr %args, i64 %k
  %object = load ptr, ptr %object.at
  %type.at = getelementptr i8, ptr %object, i64 $type
  %type = load ptr, ptr %type.at
  %is.array = icmp eq ptr %type, @ndarray
  br i1 %is.array, label %array, label %refuse
array:
  %dtype.at = getelementptr i8, ptr %object, i64 $dtype
  %dtype.own = load ptr, ptr %dtype.at
  %is.dtype = icmp eq ptr %dtype.own, %dtype
  %flags.at = getelementptr i8, ptr %object, i64 $flags
  %flags = load i32, ptr %flags.at
  %core = getelementptr %kernel, ptr %kernel, i64 0, i32 6, i64 %k
  %needed.at = getelementptr %core, ptr %core, i64 0, i32 1
  %needed = load i32, ptr %needed.at
  %flags.found = and i32 %flags, %needed
  %is.able = icmp eq i32 %flags.found, %needed
  %flags.both = and i32 %flags.all, %flags
  %ndim.at = getelementptr i8, ptr %object, i64 $ndim
  %ndim.int = load i32, ptr %ndim.at
  %axes.int = load i32, ptr %core
  %axes = zext i32 %axes.int to i64
  %batch.int = sub i32 %ndim.int, %axes.int
  %batch = zext i32 %batch.int to i64
  %batch.any.next = or i64 %batch.any, %batch
  %is.broad = icmp ule i64 %batch, $most                    ; too few axes are a huge number
  %fits.0 = and i1 %is.dtype, %is.able
  %fits.1 = and i1 %fits.0, %is.broad
  br i1 %fits.1, label %measured, label %refuse
measured:
  %shape.at = getelementptr i8, ptr %object, i64 $shape
  %shape = load ptr, ptr %shape.at
  %core.shape = getelementptr i64, ptr %shape, i64 %batch
  %is.number = icmp eq i64 %axes, 0
  br i1 %is.number, label %next, label %length
length:
  %a = phi i64 [ 0, %measured ], [ %a.next, %axis ]
  %own.at = getelementptr i64, ptr %core.shape, i64 %a
  %own = load i64, ptr %own.at
  %wanted.at = getelementptr %core, ptr %core, i64 0, i32 2, i64 %a
  %wanted = load i64, ptr %wanted.at
  %a.next = add i64 %a, 1
  %is.length = icmp eq i64 %own, %wanted
  br i1 %is.length, label %axis, label %refuse
axis:
  %is.through = icmp eq i64 %a.next, %axes
  br i1 %is.through, label %next, label %length
next:
  %data.at = getelementptr i8, ptr %object, i64 $pointer
  %data = load ptr, ptr %data.at
  %address.at = getelementptr ptr, ptr %addresses, i64 %k
  store ptr %data, ptr %address.at
  %k.next = sub i64 %k, 1
  %is.first = icmp eq i64 %k, 0
  br i1 %is.first, label %checked, label %operand
checked:
  %is.contiguous = icmp ne i32 %flags.both, 0
  %is.state = icmp eq i64 %batch.any.next, 0
  %is.simple = and i1 %is.contiguous, %is.state
  %is.alone = and i1 %is.simple, %all
  %shared.at = getelementptr %kernel, ptr %kernel, i64 0, i32 5
  %shared = load ptr, ptr %shared.at
  %has.phases = icmp ne ptr %shared, null
  %is.phased = and i1 %is.simple, %has.phases
  br i1 %is.alone, label %alone, label %several
several:
  br i1 %is.phased, label %phased, label %many
phased:
  %fourth = add i64 %n, 3
  %helpers.at = getelementptr ptr, ptr %args, i64 %fourth
  %helpers.object = load ptr, ptr %helpers.at
  %helpers.given = call i64 @PyLong_AsSsize_t(ptr %helpers.object)
  %error = call ptr @PyErr_Occurred()
  %is.wrong = icmp ne ptr %error, null
  br i1 %is.wrong, label %raise, label %together
together:
  %helpers = call i64 @llvm.smax.i64(i64 %helpers.given, i64 0)
  %uniforms.from = getelementptr %kernel, ptr %kernel, i64 0, i32 3
  %uniforms.all = load ptr, ptr %uniforms.from
  %thread = call ptr @PyEval_SaveThread()
  call void %shared(ptr %addresses, ptr %uniforms.all, i64 %helpers, ptr @team)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %answer
alone:
  %single.at = getelementptr %kernel, ptr %kernel, i64 0, i32 2
  %single = load ptr, ptr %single.at
  %uniforms.at = getelementptr %kernel, ptr %kernel, i64 0, i32 3
  %uniforms = load ptr, ptr %uniforms.at
  call void %single(ptr %addresses, ptr %uniforms)
  br label %answer
many:
  %done = call i32 @batch(ptr %kernel, ptr %args, ptr %addresses, i1 %some)
  switch i32 %done, label %answer [ i32 0, label %refuse
                                    i32 -1, label %raise ]
raise:
  ret ptr null
refuse:
  br label %answer
answer:
  %reply = phi ptr [ @True, %alone ], [ @True, %together ], [ @True, %many ], [ @False, %refuse ]
  $refer
  ret ptr %reply
}

; 1 when done, 0 if the batch does not fit, -1 if an exception is set.
define internal i32 @batch(ptr %kernel, ptr %args, ptr %addresses, i1 %ranged) nounwind noinline {
entry:
  %walk = alloca %walk
  %lengths = alloca [$slots x i64]
  %strides = alloca [$slots x [$operands x i64]]
  %steps = alloca [$steps x i64]
  %addresses.at = getelementptr %walk, ptr %walk, i64 0, i32 8
  store ptr %addresses, ptr %addresses.at
  %lengths.at = getelementptr %walk, ptr %walk, i64 0, i32 9
  store ptr %lengths, ptr %lengths.at
  %strides.at = getelementptr %walk, ptr %walk, i64 0, i32 10
  store ptr %strides, ptr %strides.at
  %steps.at = getelementptr %walk, ptr %walk, i64 0, i32 11
  store ptr %steps, ptr %steps.at
  %rows = call i64 @planned(ptr %walk, ptr %kernel, ptr %args)
  %fits = icmp sgt i64 %rows, 0
  br i1 %fits, label %range, label %refuse
range:
  br i1 %ranged, label %given, label %run
given:
  %n.at = getelementptr %walk, ptr %walk, i64 0, i32 2
  %n = load i64, ptr %n.at
  %first = getelementptr ptr, ptr %args, i64 %n
  %start.object = load ptr, ptr %first
  %start.given = call i64 @PyLong_AsSsize_t(ptr %start.object)
  %second = getelementptr ptr, ptr %first, i64 1
  %stop.object = load ptr, ptr %second
  %stop.given = call i64 @PyLong_AsSsize_t(ptr %stop.object)
  %third = getelementptr ptr, ptr %first, i64 2
  %grain.object = load ptr, ptr %third
  %grain.given = call i64 @PyLong_AsSsize_t(ptr %grain.object)
  %fourth = getelementptr ptr, ptr %first, i64 3
  %helpers.object = load ptr, ptr %fourth
  %helpers.given = call i64 @PyLong_AsSsize_t(ptr %helpers.object)
  %error = call ptr @PyErr_Occurred()
  %is.wrong = icmp ne ptr %error, null
  br i1 %is.wrong, label %raise, label %clamped
clamped:
  %start.least = call i64 @llvm.smax.i64(i64 %start.given, i64 0)
  %start.asked = call i64 @llvm.smin.i64(i64 %start.least, i64 %rows)
  %stop.most = call i64 @llvm.smin.i64(i64 %stop.given, i64 %rows)
  %stop.asked = call i64 @llvm.smax.i64(i64 %stop.most, i64 %start.asked)
  %helpers.most = call i64 @llvm.smin.i64(i64 %helpers.given, i64 $field)
  %helpers.asked = call i64 @llvm.smax.i64(i64 %helpers.most, i64 0)
  ; Pieces are counted in few bits.
  %span = sub i64 %stop.asked, %start.asked
  %least = udiv i64 %span, $field
  %least.more = add i64 %least, 1
  %grain.asked = call i64 @llvm.smax.i64(i64 %grain.given, i64 %least.more)
  br label %run
run:
  %start = phi i64 [ 0, %range ], [ %start.asked, %clamped ]
  %stop = phi i64 [ %rows, %range ], [ %stop.asked, %clamped ]
  %grain = phi i64 [ %rows, %range ], [ %grain.asked, %clamped ]
  %helpers = phi i64 [ 0, %range ], [ %helpers.asked, %clamped ]
  %start.at = getelementptr %walk, ptr %walk, i64 0, i32 4
  store i64 %start, ptr %start.at
  %stop.at = getelementptr %walk, ptr %walk, i64 0, i32 5
  store i64 %stop, ptr %stop.at
  %grain.at = getelementptr %walk, ptr %walk, i64 0, i32 6
  store i64 %grain, ptr %grain.at
  %left = sub i64 %stop, %start
  %left.up = add i64 %left, %grain
  %left.up.less = sub i64 %left.up, 1
  %pieces = udiv i64 %left.up.less, %grain
  %pieces.at = getelementptr %walk, ptr %walk, i64 0, i32 7
  store i64 %pieces, ptr %pieces.at
  %is.shared = icmp sgt i64 %helpers, 0
  %thread = call ptr @PyEval_SaveThread()
  br i1 %is.shared, label %shared, label %alone
shared:
  call void @share(ptr %walk, i64 %helpers)
  br label %end
alone:
  call void @walk(ptr %walk, i64 %start, i64 %stop)
  br label %end
end:
  call void @PyEval_RestoreThread(ptr %thread)
  ret i32 1
refuse:
  ret i32 0
raise:
  ret i32 -1
}

define ptr @bound(ptr %self, ptr %nothing) nounwind {
  %binding = getelementptr i8, ptr %self, i64 $data
  %loop = load ptr, ptr %binding
  %uniforms.at = getelementptr %binding, ptr %binding, i64 0, i32 1
  %uniforms = load ptr, ptr %uniforms.at
  %arguments.at = getelementptr %binding, ptr %binding, i64 0, i32 2
  %arguments = load ptr, ptr %arguments.at
  %dimensions.at = getelementptr %binding, ptr %binding, i64 0, i32 3
  %dimensions = load ptr, ptr %dimensions.at
  %steps.at = getelementptr %binding, ptr %binding, i64 0, i32 4
  %steps = load ptr, ptr %steps.at
  %shared.at = getelementptr %binding, ptr %binding, i64 0, i32 5
  %shared = load ptr, ptr %shared.at
  %has.phases = icmp ne ptr %shared, null
  br i1 %has.phases, label %together, label %loops
together:
  %helpers.at = getelementptr %binding, ptr %binding, i64 0, i32 6
  %helpers = load i64, ptr %helpers.at
  %thread.one = call ptr @PyEval_SaveThread()
  call void %shared(ptr %arguments, ptr %uniforms, i64 %helpers, ptr @team)
  call void @PyEval_RestoreThread(ptr %thread.one)
  br label %answer
loops:
  %rows = load i64, ptr %dimensions
  %long = icmp sge i64 %rows, $long
  br i1 %long, label %many, label %few
few:
  call void %loop(ptr %arguments, ptr %dimensions, ptr %steps, ptr %uniforms)
  br label %answer
many:
  %thread = call ptr @PyEval_SaveThread()
  call void %loop(ptr %arguments, ptr %dimensions, ptr %steps, ptr %uniforms)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %answer
answer:
  %reply = getelementptr i8, ptr @None, i64 0
  $refer
  ret ptr %reply
}

; With arrays alone this is NumPy's own function. Anything else is first passed to `lazily`, which may decline it.
define ptr @vectorcall(ptr %self, ptr %args, i64 %flagged, ptr %names) nounwind {
entry:
  %count = and i64 %flagged, 9223372036854775807            ; the highest bit is a flag
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %k.next, %array ]
  %is.through = icmp eq i64 %k, %count
  br i1 %is.through, label %usual, label %look
look:
  %object.at = getelementptr ptr, ptr %args, i64 %k
  %object = load ptr, ptr %object.at
  %type.at = getelementptr i8, ptr %object, i64 $type
  %type = load ptr, ptr %type.at
  %is.array = icmp eq ptr %type, @ndarray
  br i1 %is.array, label %array, label %ask
array:
  %k.next = add i64 %k, 1
  br label %check
ask:
  %method = call ptr @PyMethod_New(ptr @lazily, ptr %self)
  %is.none = icmp eq ptr %method, null
  br i1 %is.none, label %fail, label %asked
asked:
  %reply = call ptr @PyObject_Vectorcall(ptr %method, ptr %args, i64 %count, ptr %names)
  call void @Py_DecRef(ptr %method)
  %declined = icmp eq ptr %reply, @NotImplemented
  br i1 %declined, label %forget, label %answer
forget:
  call void @Py_DecRef(ptr %reply)
  br label %usual
usual:
  %result = tail call ptr @ufunc(ptr %self, ptr %args, i64 %flagged, ptr %names)
  ret ptr %result
answer:
  ret ptr %reply
fail:
  ret ptr null
}
