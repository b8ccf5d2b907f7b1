# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A Gantt chart as one page that needs nothing else: to zoom, to point at, to follow messages."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

from ..scheduling.placement import PlacedTask, Schedule
from ..scheduling.reservation import SystolicSchedule
from .colours import colours_of, ink_on
from .meanings import explained_kinds, meaning


def page(schedule: Schedule) -> str:
    """The page as text."""
    title = f"{schedule.graph.title} on {schedule.machine}"
    facts = {
        "makespan": f"{schedule.makespan:g} {schedule.machine.unit}",
        "speed-up": f"{schedule.speedup:.2f} over {schedule.rival}",
        "parallel efficiency": f"{schedule.efficiency:.0%}",
        "span": f"{schedule.span:g}",
        "work": f"{schedule.work:g}",
        "tasks": str(len(schedule.timed)),
        "messages": f"{len(schedule.messages)} ({schedule.words} numbers)",
    }
    if isinstance(schedule, SystolicSchedule):
        facts["interval"] = f"{schedule.interval:g} {schedule.machine.unit}"
        facts["gain at that interval"] = f"{schedule.gain:.2f}"
    if kinds := explained_kinds(schedule.drawn):
        facts["operations of the processors"] = kinds
    told = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts.items())
    # Inside a script only the end of the script could be mistaken.
    data = json.dumps(_data(schedule), separators=(",", ":")).replace("<", "\\u003c")
    parts = {"TITLE": escape(title), "FACTS": told, "DATA": data}
    return re.sub("%(TITLE|FACTS|DATA)%", lambda part: parts[part[1]], _PAGE)  # names may hold such marks too


def _data(schedule: Schedule) -> dict[str, Any]:
    tasks = schedule.timed
    colours = colours_of((t.quantity for t in tasks), (t.end - t.start for t in tasks))
    quantities = list(colours)
    number = {q: k for k, q in enumerate(quantities)}
    critical = {id(e) for e in schedule.critical}
    names = schedule.graph.links
    return {
        "unit": schedule.machine.unit,
        "makespan": schedule.makespan,
        "processors": list(schedule.drawn),
        "quantities": [
            [q, colours[q], ink_on(colours[q]), meaning(q, schedule.graph.algorithm)] for q in quantities
        ],
        "tasks": [
            [
                t.processor,
                t.start,
                t.end,
                number[t.quantity],
                t.name,
                names[t.link] if 0 <= t.link < len(names) else "",
                _work(schedule, t),
                int(id(t) in critical),
            ]
            for t in tasks
        ],
        "messages": [
            [m.sender, m.receiver, m.start, m.arrival, m.words, m.name, int(id(m) in critical)]
            for m in schedule.messages
        ],
    }


def _work(schedule: Schedule, t: PlacedTask) -> str:
    work = schedule.graph.tasks[t.task].work
    parts = [
        (work.multiplications, "*"),
        (work.additions, "+"),
        (work.divisions, "/"),
        (work.trigonometric, "sin, cos"),
    ]
    return ", ".join(f"{count} {sign}" for count, sign in parts if count)


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>%TITLE%</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body{font:14px/1.4 system-ui,sans-serif;margin:1.2em;color:#111;background:#fff}
h1{font-size:1.15em;margin:0 0 .4em}
dl{display:flex;flex-wrap:wrap;gap:.3em 1.6em;margin:0 0 .6em}
dt{font-size:.78em;color:#555}dd{margin:0;font-weight:600}
#bar{display:flex;flex-wrap:wrap;gap:.2em .7em;align-items:center;margin:.4em 0}
#bar button{font:inherit;font-size:.86em;border:1px solid #bbb;background:#fff;border-radius:4px;
padding:.1em .5em;cursor:pointer;color:#111}
#bar button[aria-pressed=true]{background:#eef;border-color:#339}
#bar i{display:inline-block;width:.9em;height:.9em;border-radius:2px;margin-right:.35em;vertical-align:-.1em}
#chart{position:relative;border:1px solid #ccc}
canvas{display:block;width:100%;touch-action:none;cursor:crosshair}
#tip{position:fixed;pointer-events:none;background:#fff;border:1px solid #888;border-radius:4px;
padding:.25em .5em;font-size:.86em;box-shadow:0 2px 6px #0003;display:none;white-space:pre;z-index:2}
p{font-size:.84em;color:#555;margin:.5em 0}
</style></head><body>
<h1>%TITLE%</h1><dl>%FACTS%</dl>
<div id="bar"></div><div id="chart"><canvas></canvas></div><div id="tip"></div>
<p>Wheel: zoom. Drag: move. Double click: all. Point at a bar for its work; choose quantities above.</p>
<script>
"use strict";
const D=%DATA%;
const canvas=document.querySelector("canvas"),g=canvas.getContext("2d"),tip=document.getElementById("tip");
const left=Math.min(190,24+7*Math.max(...D.processors.map(p=>p.length))),foot=34,row=Math.max(6,
Math.min(34,720/D.processors.length)),height=row*D.processors.length+foot;
let from=0,to=D.makespan||1,only=new Set(),arrows=D.messages.length<=300,critical=false,width=0;
const x=t=>left+(t-from)/(to-from)*(width-left-8),time=px=>from+(px-left)/(width-left-8)*(to-from);
function step(span){const s=10**Math.floor(Math.log10(span/8));
 return[1,2,5,10].map(k=>k*s).find(k=>span/k<=10)}
function draw(){
 const ratio=window.devicePixelRatio||1;width=canvas.parentElement.clientWidth;
 canvas.width=width*ratio;canvas.height=height*ratio;canvas.style.height=height+"px";
 g.setTransform(ratio,0,0,ratio,0,0);g.clearRect(0,0,width,height);g.font="12px system-ui,sans-serif";
 g.textBaseline="middle";
 const d=step(to-from);g.textAlign="center";
 for(let t=Math.ceil(from/d)*d;t<=to*(1+1e-12);t+=d){g.strokeStyle="#ddd";g.beginPath();g.moveTo(x(t),0);
  g.lineTo(x(t),height-foot);g.stroke();g.fillStyle="#333";g.fillText(+t.toPrecision(6),x(t),height-foot+10)}
 g.fillText("time in "+D.unit,(left+width)/2,height-8);
 g.textAlign="right";g.fillStyle="#111";
 const every=Math.ceil(12/row);D.processors.forEach((p,k)=>{if(k%every===0)g.fillText(p,left-8,row*(k+.5))});
 g.save();g.beginPath();g.rect(left,0,width-left,height-foot);g.clip();g.textAlign="center";
 for(const[p,a,b,q,name,,,c]of D.tasks){if(b<from||a>to)continue;
  const[,colour,ink]=D.quantities[q],shown=(!only.size||only.has(q))&&(!critical||c);
  const w=Math.max(x(b)-x(a),.6);g.globalAlpha=shown?1:.12;g.fillStyle=colour;
  g.fillRect(x(a),row*p+row*.1,w>2?w-.6:w,row*.8);
  if(shown&&row>=11&&w>name.length*6.6){g.fillStyle=ink;g.font="11px system-ui,sans-serif";
   g.fillText(name,x(a)+w/2,row*(p+.5))}}
 if(arrows){g.lineWidth=1;for(const[s,r,a,b,,,c]of D.messages){if(b<from||a>to)continue;
  g.globalAlpha=!critical||c?.75:.08;g.strokeStyle=g.fillStyle="#222";
  const y0=row*(s+.5+(r>s?.4:-.4)),y1=row*(r+.5-(r>s?.4:-.4)),u=Math.atan2(y1-y0,x(b)-x(a));
  g.beginPath();g.moveTo(x(a),y0);g.lineTo(x(b),y1);g.stroke();g.beginPath();g.moveTo(x(b),y1);
  g.lineTo(x(b)-6*Math.cos(u-.35),y1-6*Math.sin(u-.35));g.lineTo(x(b)-6*Math.cos(u+.35),y1-6*Math.sin(u+.35));
  g.fill()}}
 g.restore()}
function button(label,pressed,act,colour){const b=document.createElement("button");
 if(colour){const i=document.createElement("i");i.style.background=colour;b.append(i)}
 b.append(label);b.setAttribute("aria-pressed",pressed);
 b.onclick=()=>{b.setAttribute("aria-pressed",act());draw()};document.getElementById("bar").append(b)}
D.quantities.forEach(([name,colour,,told],q)=>button(told?name+": "+told:name,false,
 ()=>{only.has(q)?only.delete(q):only.add(q);
 return only.has(q)},colour));
button("critical chain",false,()=>critical=!critical);
if(D.messages.length)button("messages",arrows,()=>arrows=!arrows);
canvas.onwheel=e=>{e.preventDefault();const t=time(e.offsetX),k=Math.exp(e.deltaY*.0015);
 from=Math.max(0,t-(t-from)*k);to=Math.min(D.makespan||1,t+(to-t)*k);if(to-from<1e-6*(D.makespan||1))to=from+1e-6;draw()};
let held=null;
canvas.onpointerdown=e=>{held=[e.offsetX,from,to];canvas.setPointerCapture(e.pointerId)};
canvas.onpointerup=()=>held=null;
canvas.ondblclick=()=>{from=0;to=D.makespan||1;draw()};
canvas.onpointerleave=()=>tip.style.display="none";
canvas.onpointermove=e=>{
 if(held){const d=(held[0]-e.offsetX)/(width-left-8)*(held[2]-held[1]);
  const s=Math.max(-held[1],Math.min(d,(D.makespan||1)-held[2]));from=held[1]+s;to=held[2]+s;draw();return}
 const t=time(e.offsetX),p=Math.floor(e.offsetY/row);
 const hit=D.tasks.find(k=>k[0]===p&&k[1]<=t&&t<k[2]);
 if(!hit){tip.style.display="none";return}
 const told=D.quantities[hit[3]][3];
 tip.textContent=hit[4]+(hit[5]?"  ("+hit[5]+")":"")+(told?"\\n"+told:"")+"\\n"+hit[6]+"\\n"+
  D.processors[p]+", "+
  +hit[1].toPrecision(8)+" to "+ +hit[2].toPrecision(8)+(hit[7]?"\\non the critical chain":"");
 tip.style.display="block";
 tip.style.left=Math.min(e.clientX+14,innerWidth-260)+"px";tip.style.top=e.clientY+14+"px"};
window.onresize=draw;draw();
</script></body></html>
"""
