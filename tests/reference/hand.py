# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A hand of which one finger follows the other."""

COUPLED = """<robot name="hand"><link name="base"/>
<link name="palm"><inertial><origin xyz="0.1 0 0.2"/><mass value="2"/>
<inertia ixx="0.2" ixy="0.01" ixz="0" iyy="0.3" iyz="0" izz="0.25"/></inertial></link>
<link name="left"><inertial><origin xyz="0 0.1 0.1"/><mass value="0.5"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>
<link name="right"><inertial><origin xyz="0 -0.1 0.1"/><mass value="0.6"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.01"/></inertial></link>
<joint name="wrist" type="continuous"><parent link="base"/><child link="palm"/><axis xyz="0 1 0"/></joint>
<joint name="finger" type="continuous"><parent link="palm"/><child link="left"/>
<origin xyz="0 0.1 0.3" rpy="0.2 0 0"/><axis xyz="1 0 0"/></joint>
<joint name="follower" type="continuous"><parent link="palm"/><child link="right"/>
<origin xyz="0 -0.1 0.3"/><axis xyz="1 0 0"/><mimic joint="finger" multiplier="-1.5" offset="0.1"/></joint>
</robot>"""
