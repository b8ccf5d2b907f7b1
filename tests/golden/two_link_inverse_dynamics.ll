define internal void @block(ptr %p0, i64 %s0, ptr %p1, i64 %s1, ptr %p2, i64 %s2, ptr %p3, i64 %s3) noinline #0 {
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
  %v14 = load <2 x double>, ptr %p1, align 8
  %v15 = mul i64 %s1, 2
  %v16 = getelementptr i8, ptr %p1, i64 %v15
  %v17 = load <2 x double>, ptr %v16, align 8
  %v18 = shufflevector <2 x double> %v14, <2 x double> %v17, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v19 = mul i64 %s1, 1
  %v20 = getelementptr i8, ptr %p1, i64 %v19
  %v21 = load <2 x double>, ptr %v20, align 8
  %v22 = mul i64 %s1, 3
  %v23 = getelementptr i8, ptr %p1, i64 %v22
  %v24 = load <2 x double>, ptr %v23, align 8
  %v25 = shufflevector <2 x double> %v21, <2 x double> %v24, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v26 = shufflevector <4 x double> %v18, <4 x double> %v25, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v27 = shufflevector <4 x double> %v18, <4 x double> %v25, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v28 = load <2 x double>, ptr %p2, align 8
  %v29 = mul i64 %s2, 2
  %v30 = getelementptr i8, ptr %p2, i64 %v29
  %v31 = load <2 x double>, ptr %v30, align 8
  %v32 = shufflevector <2 x double> %v28, <2 x double> %v31, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v33 = mul i64 %s2, 1
  %v34 = getelementptr i8, ptr %p2, i64 %v33
  %v35 = load <2 x double>, ptr %v34, align 8
  %v36 = mul i64 %s2, 3
  %v37 = getelementptr i8, ptr %p2, i64 %v36
  %v38 = load <2 x double>, ptr %v37, align 8
  %v39 = shufflevector <2 x double> %v35, <2 x double> %v38, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v40 = shufflevector <4 x double> %v32, <4 x double> %v39, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v41 = shufflevector <4 x double> %v32, <4 x double> %v39, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
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
  br i1 %v117, label %slow, label %fast, !prof !0
  slow:
  %v118 = alloca [6 x <4 x double>], align 32
  %v119 = getelementptr <4 x double>, ptr %v118, i64 0
  store <4 x double> %v12, ptr %v119
  %v120 = getelementptr <4 x double>, ptr %v118, i64 2
  store <4 x double> %v75, ptr %v120
  %v121 = getelementptr <4 x double>, ptr %v118, i64 4
  store <4 x double> %v79, ptr %v121
  %v122 = getelementptr <4 x double>, ptr %v118, i64 1
  store <4 x double> %v13, ptr %v122
  %v123 = getelementptr <4 x double>, ptr %v118, i64 3
  store <4 x double> %v110, ptr %v123
  %v124 = getelementptr <4 x double>, ptr %v118, i64 5
  store <4 x double> %v114, ptr %v124
  call void @turn_large(ptr %v118, i64 8)
  %v125 = getelementptr <4 x double>, ptr %v118, i64 2
  %v126 = load <4 x double>, ptr %v125
  %v127 = getelementptr <4 x double>, ptr %v118, i64 4
  %v128 = load <4 x double>, ptr %v127
  %v129 = getelementptr <4 x double>, ptr %v118, i64 3
  %v130 = load <4 x double>, ptr %v129
  %v131 = getelementptr <4 x double>, ptr %v118, i64 5
  %v132 = load <4 x double>, ptr %v131
  br label %fast
  fast:
  %v133 = phi <4 x double> [ %v75, %0 ], [ %v126, %slow ]
  %v134 = phi <4 x double> [ %v79, %0 ], [ %v128, %slow ]
  %v135 = phi <4 x double> [ %v110, %0 ], [ %v130, %slow ]
  %v136 = phi <4 x double> [ %v114, %0 ], [ %v132, %slow ]
  %v137 = fmul <4 x double> %v40, splat (double 0x3FF5555555555555)
  %v138 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v134, <4 x double> splat (double 0x402D6E147AE147AE), <4 x double> %v137)
  %v139 = fadd <4 x double> %v40, %v41
  %v140 = fmul <4 x double> %v139, splat (double 0x3FD5555555555555)
  %v141 = fmul <4 x double> %v26, %v26
  %v142 = fneg <4 x double> %v133
  %v143 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v142, <4 x double> splat (double 0x40239EB851EB851F), <4 x double> %v141)
  %v144 = fmul <4 x double> %v135, %v143
  %v145 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v134, <4 x double> splat (double 0x40239EB851EB851F), <4 x double> %v40)
  %v146 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v136, <4 x double> %v145, <4 x double> %v144)
  %v147 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v146, <4 x double> splat (double 0x3FE0000000000000), <4 x double> %v140)
  %v148 = fadd <4 x double> %v26, %v27
  %v149 = fmul <4 x double> %v148, %v148
  %v150 = fmul <4 x double> %v149, splat (double 0x3FE0000000000000)
  %v151 = fmul <4 x double> %v135, %v150
  %v152 = fmul <4 x double> %v139, splat (double 0x3FE0000000000000)
  %v153 = fneg <4 x double> %v136
  %v154 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v153, <4 x double> %v152, <4 x double> %v151)
  %v155 = fsub <4 x double> %v147, %v154
  %v156 = fadd <4 x double> %v138, %v155
  %v157 = shufflevector <4 x double> %v156, <4 x double> %v147, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v158 = shufflevector <4 x double> %v156, <4 x double> %v147, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v159 = shufflevector <4 x double> %v157, <4 x double> poison, <2 x i32> <i32 0, i32 1>
  store <2 x double> %v159, ptr %p3, align 8
  %v160 = shufflevector <4 x double> %v157, <4 x double> poison, <2 x i32> <i32 2, i32 3>
  %v161 = mul i64 %s3, 2
  %v162 = getelementptr i8, ptr %p3, i64 %v161
  store <2 x double> %v160, ptr %v162, align 8
  %v163 = shufflevector <4 x double> %v158, <4 x double> poison, <2 x i32> <i32 0, i32 1>
  %v164 = mul i64 %s3, 1
  %v165 = getelementptr i8, ptr %p3, i64 %v164
  store <2 x double> %v163, ptr %v165, align 8
  %v166 = shufflevector <4 x double> %v158, <4 x double> poison, <2 x i32> <i32 2, i32 3>
  %v167 = mul i64 %s3, 3
  %v168 = getelementptr i8, ptr %p3, i64 %v167
  store <2 x double> %v166, ptr %v168, align 8
  ret void
}
