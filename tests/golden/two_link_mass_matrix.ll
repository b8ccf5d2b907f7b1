define internal void @block(ptr %p0, i64 %s0, ptr %p1, i64 %s1) noinline #0 {
  %v0 = load <2 x double>, ptr %p0, align 8
  %v1 = mul i64 %s0, 2
  %v2 = getelementptr i8, ptr %p0, i64 %v1
  %v3 = load <2 x double>, ptr %v2, align 8
  %v4 = shufflevector <2 x double> %v0, <2 x double> %v3, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v5 = mul i64 %s0, 1
  %v6 = getelementptr i8, ptr %p0, i64 %v5
  %v7 = load <2 x double>, ptr %v6, align 8
  %v8 = mul i64 %s0, 3
  %v9 = getelementptr i8, ptr %p0, i64 %v8
  %v10 = load <2 x double>, ptr %v9, align 8
  %v11 = shufflevector <2 x double> %v7, <2 x double> %v10, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v12 = shufflevector <4 x double> %v4, <4 x double> %v11, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v13 = shufflevector <4 x double> %v4, <4 x double> %v11, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v14 = call <4 x double> @llvm.fabs.v4f64(<4 x double> %v13)
  %v15 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v13, <4 x double> splat (double 0x3FE45F306DC9C883), <4 x double> splat (double 0x4338000000000000))
  %v16 = fsub <4 x double> %v15, splat (double 0x4338000000000000)
  %v17 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v16, <4 x double> splat (double 0xBFF921FB54442D18), <4 x double> %v13)
  %v18 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v16, <4 x double> splat (double 0xBC91A62633145C07), <4 x double> %v17)
  %v19 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v16, <4 x double> splat (double 0x391F1976B7ED8FBC), <4 x double> %v18)
  %v20 = fmul <4 x double> %v19, %v19
  %v21 = call <4 x double> @llvm.fma.v4f64(<4 x double> splat (double 0x3DE5E0AF186AF6E1), <4 x double> %v20, <4 x double> splat (double 0xBE5AE600A926C899))
  %v22 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v21, <4 x double> %v20, <4 x double> splat (double 0x3EC71DE37961E4C6))
  %v23 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v22, <4 x double> %v20, <4 x double> splat (double 0xBF2A01A019E8357D))
  %v24 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v23, <4 x double> %v20, <4 x double> splat (double 0x3F81111111110BB1))
  %v25 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v24, <4 x double> %v20, <4 x double> splat (double 0xBFC5555555555555))
  %v26 = call <4 x double> @llvm.fma.v4f64(<4 x double> splat (double 0xBDA907D7AEBD5DE5), <4 x double> %v20, <4 x double> splat (double 0x3E21EEB68B109172))
  %v27 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v26, <4 x double> %v20, <4 x double> splat (double 0xBE927E4FA17A41B4))
  %v28 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v27, <4 x double> %v20, <4 x double> splat (double 0x3EFA01A019F4E867))
  %v29 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v28, <4 x double> %v20, <4 x double> splat (double 0xBF56C16C16C16966))
  %v30 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v29, <4 x double> %v20, <4 x double> splat (double 0x3FA5555555555555))
  %v31 = fmul <4 x double> %v19, %v20
  %v32 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v31, <4 x double> %v25, <4 x double> %v19)
  %v33 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v20, <4 x double> %v30, <4 x double> splat (double 0xBFE0000000000000))
  %v34 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v20, <4 x double> %v33, <4 x double> splat (double 0x3FF0000000000000))
  %v35 = bitcast <4 x double> %v15 to <4 x i64>
  %v36 = trunc <4 x i64> %v35 to <4 x i1>
  %v37 = select <4 x i1> %v36, <4 x double> %v34, <4 x double> %v32
  %v38 = select <4 x i1> %v36, <4 x double> %v32, <4 x double> %v34
  %v39 = shl <4 x i64> %v35, splat (i64 62)
  %v40 = add <4 x i64> %v35, splat (i64 1)
  %v41 = shl <4 x i64> %v40, splat (i64 62)
  %v42 = and <4 x i64> %v39, splat (i64 -9223372036854775808)
  %v43 = bitcast <4 x double> %v37 to <4 x i64>
  %v44 = xor <4 x i64> %v43, %v42
  %v45 = bitcast <4 x i64> %v44 to <4 x double>
  %v46 = and <4 x i64> %v41, splat (i64 -9223372036854775808)
  %v47 = bitcast <4 x double> %v38 to <4 x i64>
  %v48 = xor <4 x i64> %v47, %v46
  %v49 = bitcast <4 x i64> %v48 to <4 x double>
  %v50 = fcmp ogt <4 x double> %v14, splat (double 0x40F86A0000000000)
  %v51 = bitcast <4 x i1> %v50 to i4
  %v52 = icmp ne i4 %v51, 0
  br i1 %v52, label %slow, label %fast, !prof !0
  slow:
  %v53 = alloca [3 x <4 x double>], align 32
  %v54 = getelementptr <4 x double>, ptr %v53, i64 0
  store <4 x double> %v13, ptr %v54
  %v55 = getelementptr <4 x double>, ptr %v53, i64 1
  store <4 x double> %v45, ptr %v55
  %v56 = getelementptr <4 x double>, ptr %v53, i64 2
  store <4 x double> %v49, ptr %v56
  call void @turn_large(ptr %v53, i64 4)
  %v57 = getelementptr <4 x double>, ptr %v53, i64 1
  %v58 = load <4 x double>, ptr %v57
  %v59 = getelementptr <4 x double>, ptr %v53, i64 2
  %v60 = load <4 x double>, ptr %v59
  br label %fast
  fast:
  %v61 = phi <4 x double> [ %v45, %0 ], [ %v58, %slow ]
  %v62 = phi <4 x double> [ %v49, %0 ], [ %v60, %slow ]
  %v63 = fmul <4 x double> %v62, splat (double 0x3FE0000000000000)
  %v64 = fadd <4 x double> %v63, %v63
  %v65 = fadd <4 x double> %v64, splat (double 0x3FD5555555555555)
  %v66 = fadd <4 x double> %v65, splat (double 0x3FF5555555555555)
  %v67 = fadd <4 x double> %v63, splat (double 0x3FD5555555555555)
  %v68 = shufflevector <4 x double> %v66, <4 x double> %v67, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v69 = shufflevector <4 x double> %v66, <4 x double> %v67, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v70 = shufflevector <4 x double> %v67, <4 x double> splat (double 0x3FD5555555555555), <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v71 = shufflevector <4 x double> %v67, <4 x double> splat (double 0x3FD5555555555555), <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v72 = shufflevector <4 x double> %v68, <4 x double> %v70, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v73 = shufflevector <4 x double> %v68, <4 x double> %v70, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %v74 = shufflevector <4 x double> %v69, <4 x double> %v71, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %v75 = shufflevector <4 x double> %v69, <4 x double> %v71, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  store <4 x double> %v72, ptr %p1, align 8
  %v76 = mul i64 %s1, 1
  %v77 = getelementptr i8, ptr %p1, i64 %v76
  store <4 x double> %v74, ptr %v77, align 8
  %v78 = mul i64 %s1, 2
  %v79 = getelementptr i8, ptr %p1, i64 %v78
  store <4 x double> %v73, ptr %v79, align 8
  %v80 = mul i64 %s1, 3
  %v81 = getelementptr i8, ptr %p1, i64 %v80
  store <4 x double> %v75, ptr %v81, align 8
  ret void
}
