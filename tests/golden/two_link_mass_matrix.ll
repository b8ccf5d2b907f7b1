define internal void @block(ptr %p0, i64 %s0, ptr %p1, i64 %s1) noinline #0 {
  entry:
  %slow1_place = alloca [3 x <4 x double>], align 32
  %v0 = mul i64 %s0, 1
  %v1 = mul i64 %s0, 2
  %v2 = mul i64 %s0, 3
  %v3 = getelementptr i8, ptr %p0, i64 %v0
  %v4 = getelementptr i8, ptr %p0, i64 %v1
  %v5 = getelementptr i8, ptr %p0, i64 %v2
  %v6 = load <2 x double>, ptr %p0, align 8
  %v7 = load <2 x double>, ptr %v3, align 8
  %v8 = load <2 x double>, ptr %v4, align 8
  %v9 = load <2 x double>, ptr %v5, align 8
  %v10 = shufflevector <2 x double> %v6, <2 x double> %v8, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v11 = shufflevector <2 x double> %v7, <2 x double> %v9, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v12 = shufflevector <4 x double> %v10, <4 x double> %v11, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v13 = shufflevector <4 x double> %v10, <4 x double> %v11, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v14 = call <4 x double> @llvm.fabs.v4f64(<4 x double> %v13)
  %v15 = fcmp ugt <4 x double> %v14, splat (double 0x40F86A0000000000)
  %v16 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v13, <4 x double> splat (double 0x3FE45F306DC9C883), <4 x double> splat (double 0x4338000000000000))
  %v17 = fsub <4 x double> %v16, splat (double 0x4338000000000000)
  %v18 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v17, <4 x double> splat (double 0xBFF921FB54442D18), <4 x double> %v13)
  %v19 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v17, <4 x double> splat (double 0xBC91A62633145C07), <4 x double> %v18)
  %v20 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v17, <4 x double> splat (double 0x391F1976B7ED8FBC), <4 x double> %v19)
  %v21 = fmul <4 x double> %v20, %v20
  %v22 = call <4 x double> @llvm.fma.v4f64(<4 x double> splat (double 0x3DE5E0AF186AF6E1), <4 x double> %v21, <4 x double> splat (double 0xBE5AE600A926C899))
  %v23 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v22, <4 x double> %v21, <4 x double> splat (double 0x3EC71DE37961E4C6))
  %v24 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v23, <4 x double> %v21, <4 x double> splat (double 0xBF2A01A019E8357D))
  %v25 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v24, <4 x double> %v21, <4 x double> splat (double 0x3F81111111110BB1))
  %v26 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v25, <4 x double> %v21, <4 x double> splat (double 0xBFC5555555555555))
  %v27 = call <4 x double> @llvm.fma.v4f64(<4 x double> splat (double 0xBDA907D7AEBD5DE5), <4 x double> %v21, <4 x double> splat (double 0x3E21EEB68B109172))
  %v28 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v27, <4 x double> %v21, <4 x double> splat (double 0xBE927E4FA17A41B4))
  %v29 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v28, <4 x double> %v21, <4 x double> splat (double 0x3EFA01A019F4E867))
  %v30 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v29, <4 x double> %v21, <4 x double> splat (double 0xBF56C16C16C16966))
  %v31 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v30, <4 x double> %v21, <4 x double> splat (double 0x3FA5555555555555))
  %v32 = fmul <4 x double> %v20, %v21
  %v33 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v32, <4 x double> %v26, <4 x double> %v20)
  %v34 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v21, <4 x double> %v31, <4 x double> splat (double 0xBFE0000000000000))
  %v35 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v21, <4 x double> %v34, <4 x double> splat (double 0x3FF0000000000000))
  %v36 = bitcast <4 x double> %v16 to <4 x i64>
  %v37 = trunc <4 x i64> %v36 to <4 x i1>
  %v38 = select <4 x i1> %v37, <4 x double> %v35, <4 x double> %v33
  %v39 = select <4 x i1> %v37, <4 x double> %v33, <4 x double> %v35
  %v40 = shl <4 x i64> %v36, splat (i64 62)
  %v41 = add <4 x i64> %v36, splat (i64 1)
  %v42 = shl <4 x i64> %v41, splat (i64 62)
  %v43 = and <4 x i64> %v40, splat (i64 -9223372036854775808)
  %v44 = bitcast <4 x double> %v38 to <4 x i64>
  %v45 = xor <4 x i64> %v44, %v43
  %v46 = bitcast <4 x i64> %v45 to <4 x double>
  %v47 = and <4 x i64> %v42, splat (i64 -9223372036854775808)
  %v48 = bitcast <4 x double> %v39 to <4 x i64>
  %v49 = xor <4 x i64> %v48, %v47
  %v50 = bitcast <4 x i64> %v49 to <4 x double>
  %v51 = bitcast <4 x i1> %v15 to i4
  %v52 = icmp ne i4 %v51, 0
  br i1 %v52, label %slow1, label %fast2, !prof !0
  slow1:
  %v53 = getelementptr <4 x double>, ptr %slow1_place, i64 0
  %v54 = getelementptr <4 x double>, ptr %slow1_place, i64 1
  %v55 = getelementptr <4 x double>, ptr %slow1_place, i64 2
  store <4 x double> %v13, ptr %v53, align 32
  store <4 x double> %v46, ptr %v54, align 32
  store <4 x double> %v50, ptr %v55, align 32
  call void @sincos_large(ptr %slow1_place, i64 4)
  %v56 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v13, <4 x double> splat (double 0x0000000000000000), <4 x double> splat (double 0x0000000000000000))
  %v57 = load <4 x double>, ptr %v53, align 32
  %v58 = load <4 x double>, ptr %v54, align 32
  %v59 = load <4 x double>, ptr %v55, align 32
  br label %fast2
  fast2:
  %v60 = phi <4 x double> [ %v46, %entry ], [ %v58, %slow1 ]
  %v61 = phi <4 x double> [ %v50, %entry ], [ %v59, %slow1 ]
  %v62 = phi <4 x double> [ splat (double 0x0000000000000000), %entry ], [ %v56, %slow1 ]
  %v63 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v12, <4 x double> splat (double 0x0000000000000000), <4 x double> splat (double 0x0000000000000000))
  %v64 = fsub <4 x double> %v61, %v63
  %v65 = fmul <4 x double> %v64, splat (double 0x3FE0000000000000)
  %v66 = fadd <4 x double> %v65, %v65
  %v67 = fadd <4 x double> %v66, splat (double 0x3FD5555555555555)
  %v68 = fadd <4 x double> %v67, splat (double 0x3FF5555555555555)
  %v69 = fadd <4 x double> %v65, splat (double 0x3FD5555555555555)
  %v70 = mul i64 %s1, 1
  %v71 = mul i64 %s1, 2
  %v72 = mul i64 %s1, 3
  %v73 = getelementptr i8, ptr %p1, i64 %v70
  %v74 = getelementptr i8, ptr %p1, i64 %v71
  %v75 = getelementptr i8, ptr %p1, i64 %v72
  %v76 = shufflevector <4 x double> %v68, <4 x double> %v69, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v77 = shufflevector <4 x double> %v68, <4 x double> %v69, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v78 = shufflevector <4 x double> %v69, <4 x double> splat (double 0x3FD5555555555555), <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v79 = shufflevector <4 x double> %v69, <4 x double> splat (double 0x3FD5555555555555), <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v80 = shufflevector <4 x double> %v76, <4 x double> %v78, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v81 = shufflevector <4 x double> %v76, <4 x double> %v78, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %v82 = shufflevector <4 x double> %v77, <4 x double> %v79, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v83 = shufflevector <4 x double> %v77, <4 x double> %v79, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  store <4 x double> %v80, ptr %p1, align 8
  store <4 x double> %v82, ptr %v73, align 8
  store <4 x double> %v81, ptr %v74, align 8
  store <4 x double> %v83, ptr %v75, align 8
  ret void
}
