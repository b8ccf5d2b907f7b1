define internal void @block(ptr %p0, i64 %s0, ptr %p1, i64 %s1, ptr %p2, i64 %s2, ptr %p3, i64 %s3) noinline #0 {
  entry:
  %slow1_place = alloca [6 x <4 x double>], align 32
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
  %v14 = mul i64 %s1, 1
  %v15 = mul i64 %s1, 2
  %v16 = mul i64 %s1, 3
  %v17 = getelementptr i8, ptr %p1, i64 %v14
  %v18 = getelementptr i8, ptr %p1, i64 %v15
  %v19 = getelementptr i8, ptr %p1, i64 %v16
  %v20 = load <2 x double>, ptr %p1, align 8
  %v21 = load <2 x double>, ptr %v17, align 8
  %v22 = load <2 x double>, ptr %v18, align 8
  %v23 = load <2 x double>, ptr %v19, align 8
  %v24 = shufflevector <2 x double> %v20, <2 x double> %v22, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v25 = shufflevector <2 x double> %v21, <2 x double> %v23, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v26 = shufflevector <4 x double> %v24, <4 x double> %v25, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v27 = shufflevector <4 x double> %v24, <4 x double> %v25, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v28 = mul i64 %s2, 1
  %v29 = mul i64 %s2, 2
  %v30 = mul i64 %s2, 3
  %v31 = getelementptr i8, ptr %p2, i64 %v28
  %v32 = getelementptr i8, ptr %p2, i64 %v29
  %v33 = getelementptr i8, ptr %p2, i64 %v30
  %v34 = load <2 x double>, ptr %p2, align 8
  %v35 = load <2 x double>, ptr %v31, align 8
  %v36 = load <2 x double>, ptr %v32, align 8
  %v37 = load <2 x double>, ptr %v33, align 8
  %v38 = shufflevector <2 x double> %v34, <2 x double> %v36, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v39 = shufflevector <2 x double> %v35, <2 x double> %v37, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v40 = shufflevector <4 x double> %v38, <4 x double> %v39, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v41 = shufflevector <4 x double> %v38, <4 x double> %v39, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v42 = call <4 x double> @llvm.fabs.v4f64(<4 x double> %v12)
  %v43 = call <4 x double> @llvm.fabs.v4f64(<4 x double> %v13)
  %v44 = call <4 x double> @llvm.maxnum.v4f64(<4 x double> %v42, <4 x double> %v43)
  %v45 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v12, <4 x double> splat (double 0x3FE45F306DC9C883), <4 x double> splat (double 0x4338000000000000))
  %v46 = fsub <4 x double> %v45, splat (double 0x4338000000000000)
  %v47 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v46, <4 x double> splat (double 0xBFF921FB54442D18), <4 x double> %v12)
  %v48 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v46, <4 x double> splat (double 0xBC91A62633145C07), <4 x double> %v47)
  %v49 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v46, <4 x double> splat (double 0x391F1976B7ED8FBC), <4 x double> %v48)
  %v50 = fmul <4 x double> %v49, %v49
  %v51 = call <4 x double> @llvm.fma.v4f64(<4 x double> splat (double 0x3DE5E0AF186AF6E1), <4 x double> %v50, <4 x double> splat (double 0xBE5AE600A926C899))
  %v52 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v51, <4 x double> %v50, <4 x double> splat (double 0x3EC71DE37961E4C6))
  %v53 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v52, <4 x double> %v50, <4 x double> splat (double 0xBF2A01A019E8357D))
  %v54 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v53, <4 x double> %v50, <4 x double> splat (double 0x3F81111111110BB1))
  %v55 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v54, <4 x double> %v50, <4 x double> splat (double 0xBFC5555555555555))
  %v56 = call <4 x double> @llvm.fma.v4f64(<4 x double> splat (double 0xBDA907D7AEBD5DE5), <4 x double> %v50, <4 x double> splat (double 0x3E21EEB68B109172))
  %v57 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v56, <4 x double> %v50, <4 x double> splat (double 0xBE927E4FA17A41B4))
  %v58 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v57, <4 x double> %v50, <4 x double> splat (double 0x3EFA01A019F4E867))
  %v59 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v58, <4 x double> %v50, <4 x double> splat (double 0xBF56C16C16C16966))
  %v60 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v59, <4 x double> %v50, <4 x double> splat (double 0x3FA5555555555555))
  %v61 = fmul <4 x double> %v49, %v50
  %v62 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v61, <4 x double> %v55, <4 x double> %v49)
  %v63 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v50, <4 x double> %v60, <4 x double> splat (double 0xBFE0000000000000))
  %v64 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v50, <4 x double> %v63, <4 x double> splat (double 0x3FF0000000000000))
  %v65 = bitcast <4 x double> %v45 to <4 x i64>
  %v66 = trunc <4 x i64> %v65 to <4 x i1>
  %v67 = select <4 x i1> %v66, <4 x double> %v64, <4 x double> %v62
  %v68 = select <4 x i1> %v66, <4 x double> %v62, <4 x double> %v64
  %v69 = shl <4 x i64> %v65, splat (i64 62)
  %v70 = add <4 x i64> %v65, splat (i64 1)
  %v71 = shl <4 x i64> %v70, splat (i64 62)
  %v72 = and <4 x i64> %v69, splat (i64 -9223372036854775808)
  %v73 = bitcast <4 x double> %v67 to <4 x i64>
  %v74 = xor <4 x i64> %v73, %v72
  %v75 = bitcast <4 x i64> %v74 to <4 x double>
  %v76 = and <4 x i64> %v71, splat (i64 -9223372036854775808)
  %v77 = bitcast <4 x double> %v68 to <4 x i64>
  %v78 = xor <4 x i64> %v77, %v76
  %v79 = bitcast <4 x i64> %v78 to <4 x double>
  %v80 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v13, <4 x double> splat (double 0x3FE45F306DC9C883), <4 x double> splat (double 0x4338000000000000))
  %v81 = fsub <4 x double> %v80, splat (double 0x4338000000000000)
  %v82 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v81, <4 x double> splat (double 0xBFF921FB54442D18), <4 x double> %v13)
  %v83 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v81, <4 x double> splat (double 0xBC91A62633145C07), <4 x double> %v82)
  %v84 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v81, <4 x double> splat (double 0x391F1976B7ED8FBC), <4 x double> %v83)
  %v85 = fmul <4 x double> %v84, %v84
  %v86 = call <4 x double> @llvm.fma.v4f64(<4 x double> splat (double 0x3DE5E0AF186AF6E1), <4 x double> %v85, <4 x double> splat (double 0xBE5AE600A926C899))
  %v87 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v86, <4 x double> %v85, <4 x double> splat (double 0x3EC71DE37961E4C6))
  %v88 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v87, <4 x double> %v85, <4 x double> splat (double 0xBF2A01A019E8357D))
  %v89 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v88, <4 x double> %v85, <4 x double> splat (double 0x3F81111111110BB1))
  %v90 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v89, <4 x double> %v85, <4 x double> splat (double 0xBFC5555555555555))
  %v91 = call <4 x double> @llvm.fma.v4f64(<4 x double> splat (double 0xBDA907D7AEBD5DE5), <4 x double> %v85, <4 x double> splat (double 0x3E21EEB68B109172))
  %v92 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v91, <4 x double> %v85, <4 x double> splat (double 0xBE927E4FA17A41B4))
  %v93 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v92, <4 x double> %v85, <4 x double> splat (double 0x3EFA01A019F4E867))
  %v94 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v93, <4 x double> %v85, <4 x double> splat (double 0xBF56C16C16C16966))
  %v95 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v94, <4 x double> %v85, <4 x double> splat (double 0x3FA5555555555555))
  %v96 = fmul <4 x double> %v84, %v85
  %v97 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v96, <4 x double> %v90, <4 x double> %v84)
  %v98 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v85, <4 x double> %v95, <4 x double> splat (double 0xBFE0000000000000))
  %v99 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v85, <4 x double> %v98, <4 x double> splat (double 0x3FF0000000000000))
  %v100 = bitcast <4 x double> %v80 to <4 x i64>
  %v101 = trunc <4 x i64> %v100 to <4 x i1>
  %v102 = select <4 x i1> %v101, <4 x double> %v99, <4 x double> %v97
  %v103 = select <4 x i1> %v101, <4 x double> %v97, <4 x double> %v99
  %v104 = shl <4 x i64> %v100, splat (i64 62)
  %v105 = add <4 x i64> %v100, splat (i64 1)
  %v106 = shl <4 x i64> %v105, splat (i64 62)
  %v107 = and <4 x i64> %v104, splat (i64 -9223372036854775808)
  %v108 = bitcast <4 x double> %v102 to <4 x i64>
  %v109 = xor <4 x i64> %v108, %v107
  %v110 = bitcast <4 x i64> %v109 to <4 x double>
  %v111 = and <4 x i64> %v106, splat (i64 -9223372036854775808)
  %v112 = bitcast <4 x double> %v103 to <4 x i64>
  %v113 = xor <4 x i64> %v112, %v111
  %v114 = bitcast <4 x i64> %v113 to <4 x double>
  %v115 = fcmp ogt <4 x double> %v44, splat (double 0x40F86A0000000000)
  %v116 = bitcast <4 x i1> %v115 to i4
  %v117 = icmp ne i4 %v116, 0
  br i1 %v117, label %slow1, label %fast2, !prof !0
  slow1:
  %v118 = getelementptr <4 x double>, ptr %slow1_place, i64 0
  %v119 = getelementptr <4 x double>, ptr %slow1_place, i64 1
  %v120 = getelementptr <4 x double>, ptr %slow1_place, i64 2
  %v121 = getelementptr <4 x double>, ptr %slow1_place, i64 3
  %v122 = getelementptr <4 x double>, ptr %slow1_place, i64 4
  %v123 = getelementptr <4 x double>, ptr %slow1_place, i64 5
  store <4 x double> %v12, ptr %v118, align 32
  store <4 x double> %v13, ptr %v119, align 32
  store <4 x double> %v75, ptr %v120, align 32
  store <4 x double> %v110, ptr %v121, align 32
  store <4 x double> %v79, ptr %v122, align 32
  store <4 x double> %v114, ptr %v123, align 32
  call void @turn_large(ptr %slow1_place, i64 8)
  %v124 = load <4 x double>, ptr %v118, align 32
  %v125 = load <4 x double>, ptr %v119, align 32
  %v126 = load <4 x double>, ptr %v120, align 32
  %v127 = load <4 x double>, ptr %v121, align 32
  %v128 = load <4 x double>, ptr %v122, align 32
  %v129 = load <4 x double>, ptr %v123, align 32
  br label %fast2
  fast2:
  %v130 = phi <4 x double> [ %v75, %entry ], [ %v126, %slow1 ]
  %v131 = phi <4 x double> [ %v110, %entry ], [ %v127, %slow1 ]
  %v132 = phi <4 x double> [ %v79, %entry ], [ %v128, %slow1 ]
  %v133 = phi <4 x double> [ %v114, %entry ], [ %v129, %slow1 ]
  %v134 = fmul <4 x double> %v40, splat (double 0x3FF5555555555555)
  %v135 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v132, <4 x double> splat (double 0x402D6E147AE147AE), <4 x double> %v134)
  %v136 = fadd <4 x double> %v40, %v41
  %v137 = fmul <4 x double> %v136, splat (double 0x3FD5555555555555)
  %v138 = fmul <4 x double> %v26, %v26
  %v139 = fneg <4 x double> %v130
  %v140 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v139, <4 x double> splat (double 0x40239EB851EB851F), <4 x double> %v138)
  %v141 = fmul <4 x double> %v131, %v140
  %v142 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v132, <4 x double> splat (double 0x40239EB851EB851F), <4 x double> %v40)
  %v143 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v133, <4 x double> %v142, <4 x double> %v141)
  %v144 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v143, <4 x double> splat (double 0x3FE0000000000000), <4 x double> %v137)
  %v145 = fadd <4 x double> %v26, %v27
  %v146 = fmul <4 x double> %v145, %v145
  %v147 = fmul <4 x double> %v146, splat (double 0x3FE0000000000000)
  %v148 = fmul <4 x double> %v131, %v147
  %v149 = fmul <4 x double> %v136, splat (double 0x3FE0000000000000)
  %v150 = fneg <4 x double> %v133
  %v151 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v150, <4 x double> %v149, <4 x double> %v148)
  %v152 = fsub <4 x double> %v144, %v151
  %v153 = fadd <4 x double> %v135, %v152
  %v154 = mul i64 %s3, 1
  %v155 = mul i64 %s3, 2
  %v156 = mul i64 %s3, 3
  %v157 = getelementptr i8, ptr %p3, i64 %v154
  %v158 = getelementptr i8, ptr %p3, i64 %v155
  %v159 = getelementptr i8, ptr %p3, i64 %v156
  %v160 = shufflevector <4 x double> %v153, <4 x double> %v144, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v161 = shufflevector <4 x double> %v153, <4 x double> %v144, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v162 = shufflevector <4 x double> %v160, <4 x double> poison, <2 x i32> <i32 0, i32 1>
  store <2 x double> %v162, ptr %p3, align 8
  %v163 = shufflevector <4 x double> %v160, <4 x double> poison, <2 x i32> <i32 2, i32 3>
  store <2 x double> %v163, ptr %v158, align 8
  %v164 = shufflevector <4 x double> %v161, <4 x double> poison, <2 x i32> <i32 0, i32 1>
  store <2 x double> %v164, ptr %v157, align 8
  %v165 = shufflevector <4 x double> %v161, <4 x double> poison, <2 x i32> <i32 2, i32 3>
  store <2 x double> %v165, ptr %v159, align 8
  ret void
}
