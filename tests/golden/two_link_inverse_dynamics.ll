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
  %v43 = fcmp ugt <4 x double> %v42, splat (double 0x40F86A0000000000)
  %v44 = call <4 x double> @llvm.fabs.v4f64(<4 x double> %v13)
  %v45 = fcmp ugt <4 x double> %v44, splat (double 0x40F86A0000000000)
  %v46 = or <4 x i1> %v43, %v45
  %v47 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v12, <4 x double> splat (double 0x3FE45F306DC9C883), <4 x double> splat (double 0x4338000000000000))
  %v48 = fsub <4 x double> %v47, splat (double 0x4338000000000000)
  %v49 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v48, <4 x double> splat (double 0xBFF921FB54442D18), <4 x double> %v12)
  %v50 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v48, <4 x double> splat (double 0xBC91A62633145C07), <4 x double> %v49)
  %v51 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v48, <4 x double> splat (double 0x391F1976B7ED8FBC), <4 x double> %v50)
  %v52 = fmul <4 x double> %v51, %v51
  %v53 = call <4 x double> @llvm.fma.v4f64(<4 x double> splat (double 0x3DE5E0AF186AF6E1), <4 x double> %v52, <4 x double> splat (double 0xBE5AE600A926C899))
  %v54 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v53, <4 x double> %v52, <4 x double> splat (double 0x3EC71DE37961E4C6))
  %v55 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v54, <4 x double> %v52, <4 x double> splat (double 0xBF2A01A019E8357D))
  %v56 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v55, <4 x double> %v52, <4 x double> splat (double 0x3F81111111110BB1))
  %v57 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v56, <4 x double> %v52, <4 x double> splat (double 0xBFC5555555555555))
  %v58 = call <4 x double> @llvm.fma.v4f64(<4 x double> splat (double 0xBDA907D7AEBD5DE5), <4 x double> %v52, <4 x double> splat (double 0x3E21EEB68B109172))
  %v59 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v58, <4 x double> %v52, <4 x double> splat (double 0xBE927E4FA17A41B4))
  %v60 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v59, <4 x double> %v52, <4 x double> splat (double 0x3EFA01A019F4E867))
  %v61 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v60, <4 x double> %v52, <4 x double> splat (double 0xBF56C16C16C16966))
  %v62 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v61, <4 x double> %v52, <4 x double> splat (double 0x3FA5555555555555))
  %v63 = fmul <4 x double> %v51, %v52
  %v64 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v63, <4 x double> %v57, <4 x double> %v51)
  %v65 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v52, <4 x double> %v62, <4 x double> splat (double 0xBFE0000000000000))
  %v66 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v52, <4 x double> %v65, <4 x double> splat (double 0x3FF0000000000000))
  %v67 = bitcast <4 x double> %v47 to <4 x i64>
  %v68 = trunc <4 x i64> %v67 to <4 x i1>
  %v69 = select <4 x i1> %v68, <4 x double> %v66, <4 x double> %v64
  %v70 = select <4 x i1> %v68, <4 x double> %v64, <4 x double> %v66
  %v71 = shl <4 x i64> %v67, splat (i64 62)
  %v72 = add <4 x i64> %v67, splat (i64 1)
  %v73 = shl <4 x i64> %v72, splat (i64 62)
  %v74 = and <4 x i64> %v71, splat (i64 -9223372036854775808)
  %v75 = bitcast <4 x double> %v69 to <4 x i64>
  %v76 = xor <4 x i64> %v75, %v74
  %v77 = bitcast <4 x i64> %v76 to <4 x double>
  %v78 = and <4 x i64> %v73, splat (i64 -9223372036854775808)
  %v79 = bitcast <4 x double> %v70 to <4 x i64>
  %v80 = xor <4 x i64> %v79, %v78
  %v81 = bitcast <4 x i64> %v80 to <4 x double>
  %v82 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v13, <4 x double> splat (double 0x3FE45F306DC9C883), <4 x double> splat (double 0x4338000000000000))
  %v83 = fsub <4 x double> %v82, splat (double 0x4338000000000000)
  %v84 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v83, <4 x double> splat (double 0xBFF921FB54442D18), <4 x double> %v13)
  %v85 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v83, <4 x double> splat (double 0xBC91A62633145C07), <4 x double> %v84)
  %v86 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v83, <4 x double> splat (double 0x391F1976B7ED8FBC), <4 x double> %v85)
  %v87 = fmul <4 x double> %v86, %v86
  %v88 = call <4 x double> @llvm.fma.v4f64(<4 x double> splat (double 0x3DE5E0AF186AF6E1), <4 x double> %v87, <4 x double> splat (double 0xBE5AE600A926C899))
  %v89 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v88, <4 x double> %v87, <4 x double> splat (double 0x3EC71DE37961E4C6))
  %v90 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v89, <4 x double> %v87, <4 x double> splat (double 0xBF2A01A019E8357D))
  %v91 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v90, <4 x double> %v87, <4 x double> splat (double 0x3F81111111110BB1))
  %v92 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v91, <4 x double> %v87, <4 x double> splat (double 0xBFC5555555555555))
  %v93 = call <4 x double> @llvm.fma.v4f64(<4 x double> splat (double 0xBDA907D7AEBD5DE5), <4 x double> %v87, <4 x double> splat (double 0x3E21EEB68B109172))
  %v94 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v93, <4 x double> %v87, <4 x double> splat (double 0xBE927E4FA17A41B4))
  %v95 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v94, <4 x double> %v87, <4 x double> splat (double 0x3EFA01A019F4E867))
  %v96 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v95, <4 x double> %v87, <4 x double> splat (double 0xBF56C16C16C16966))
  %v97 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v96, <4 x double> %v87, <4 x double> splat (double 0x3FA5555555555555))
  %v98 = fmul <4 x double> %v86, %v87
  %v99 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v98, <4 x double> %v92, <4 x double> %v86)
  %v100 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v87, <4 x double> %v97, <4 x double> splat (double 0xBFE0000000000000))
  %v101 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v87, <4 x double> %v100, <4 x double> splat (double 0x3FF0000000000000))
  %v102 = bitcast <4 x double> %v82 to <4 x i64>
  %v103 = trunc <4 x i64> %v102 to <4 x i1>
  %v104 = select <4 x i1> %v103, <4 x double> %v101, <4 x double> %v99
  %v105 = select <4 x i1> %v103, <4 x double> %v99, <4 x double> %v101
  %v106 = shl <4 x i64> %v102, splat (i64 62)
  %v107 = add <4 x i64> %v102, splat (i64 1)
  %v108 = shl <4 x i64> %v107, splat (i64 62)
  %v109 = and <4 x i64> %v106, splat (i64 -9223372036854775808)
  %v110 = bitcast <4 x double> %v104 to <4 x i64>
  %v111 = xor <4 x i64> %v110, %v109
  %v112 = bitcast <4 x i64> %v111 to <4 x double>
  %v113 = and <4 x i64> %v108, splat (i64 -9223372036854775808)
  %v114 = bitcast <4 x double> %v105 to <4 x i64>
  %v115 = xor <4 x i64> %v114, %v113
  %v116 = bitcast <4 x i64> %v115 to <4 x double>
  %v117 = bitcast <4 x i1> %v46 to i4
  %v118 = icmp ne i4 %v117, 0
  br i1 %v118, label %slow1, label %fast2, !prof !0
  slow1:
  %v119 = getelementptr <4 x double>, ptr %slow1_place, i64 0
  %v120 = getelementptr <4 x double>, ptr %slow1_place, i64 1
  %v121 = getelementptr <4 x double>, ptr %slow1_place, i64 2
  %v122 = getelementptr <4 x double>, ptr %slow1_place, i64 3
  %v123 = getelementptr <4 x double>, ptr %slow1_place, i64 4
  %v124 = getelementptr <4 x double>, ptr %slow1_place, i64 5
  store <4 x double> %v12, ptr %v119, align 32
  store <4 x double> %v13, ptr %v120, align 32
  store <4 x double> %v77, ptr %v121, align 32
  store <4 x double> %v112, ptr %v122, align 32
  store <4 x double> %v81, ptr %v123, align 32
  store <4 x double> %v116, ptr %v124, align 32
  call void @sincos_large(ptr %slow1_place, i64 8)
  %v125 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v12, <4 x double> splat (double 0x0000000000000000), <4 x double> splat (double 0x0000000000000000))
  %v126 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v13, <4 x double> splat (double 0x0000000000000000), <4 x double> %v125)
  %v127 = load <4 x double>, ptr %v119, align 32
  %v128 = load <4 x double>, ptr %v120, align 32
  %v129 = load <4 x double>, ptr %v121, align 32
  %v130 = load <4 x double>, ptr %v122, align 32
  %v131 = load <4 x double>, ptr %v123, align 32
  %v132 = load <4 x double>, ptr %v124, align 32
  br label %fast2
  fast2:
  %v133 = phi <4 x double> [ %v77, %entry ], [ %v129, %slow1 ]
  %v134 = phi <4 x double> [ %v112, %entry ], [ %v130, %slow1 ]
  %v135 = phi <4 x double> [ %v81, %entry ], [ %v131, %slow1 ]
  %v136 = phi <4 x double> [ %v116, %entry ], [ %v132, %slow1 ]
  %v137 = phi <4 x double> [ splat (double 0x0000000000000000), %entry ], [ %v126, %slow1 ]
  %v138 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v27, <4 x double> splat (double 0x0000000000000000), <4 x double> splat (double 0x0000000000000000))
  %v139 = fsub <4 x double> %v41, %v138
  %v140 = fmul <4 x double> %v40, splat (double 0x3FF5555555555555)
  %v141 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v135, <4 x double> splat (double 0x402D6E147AE147AE), <4 x double> %v140)
  %v142 = fadd <4 x double> %v40, %v139
  %v143 = fmul <4 x double> %v142, splat (double 0x3FD5555555555555)
  %v144 = fmul <4 x double> %v26, %v26
  %v145 = fneg <4 x double> %v133
  %v146 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v145, <4 x double> splat (double 0x40239EB851EB851F), <4 x double> %v144)
  %v147 = fmul <4 x double> %v134, %v146
  %v148 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v135, <4 x double> splat (double 0x40239EB851EB851F), <4 x double> %v40)
  %v149 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v136, <4 x double> %v148, <4 x double> %v147)
  %v150 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v149, <4 x double> splat (double 0x3FE0000000000000), <4 x double> %v143)
  %v151 = fadd <4 x double> %v26, %v27
  %v152 = fmul <4 x double> %v151, %v151
  %v153 = fmul <4 x double> %v152, splat (double 0x3FE0000000000000)
  %v154 = fmul <4 x double> %v134, %v153
  %v155 = fmul <4 x double> %v142, splat (double 0x3FE0000000000000)
  %v156 = fneg <4 x double> %v136
  %v157 = call <4 x double> @llvm.fma.v4f64(<4 x double> %v156, <4 x double> %v155, <4 x double> %v154)
  %v158 = fsub <4 x double> %v150, %v157
  %v159 = fadd <4 x double> %v141, %v158
  %v160 = mul i64 %s3, 1
  %v161 = mul i64 %s3, 2
  %v162 = mul i64 %s3, 3
  %v163 = getelementptr i8, ptr %p3, i64 %v160
  %v164 = getelementptr i8, ptr %p3, i64 %v161
  %v165 = getelementptr i8, ptr %p3, i64 %v162
  %v166 = shufflevector <4 x double> %v159, <4 x double> %v150, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %v167 = shufflevector <4 x double> %v159, <4 x double> %v150, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %v168 = shufflevector <4 x double> %v166, <4 x double> poison, <2 x i32> <i32 0, i32 1>
  store <2 x double> %v168, ptr %p3, align 8
  %v169 = shufflevector <4 x double> %v166, <4 x double> poison, <2 x i32> <i32 2, i32 3>
  store <2 x double> %v169, ptr %v164, align 8
  %v170 = shufflevector <4 x double> %v167, <4 x double> poison, <2 x i32> <i32 0, i32 1>
  store <2 x double> %v170, ptr %v163, align 8
  %v171 = shufflevector <4 x double> %v167, <4 x double> poison, <2 x i32> <i32 2, i32 3>
  store <2 x double> %v171, ptr %v165, align 8
  ret void
}
