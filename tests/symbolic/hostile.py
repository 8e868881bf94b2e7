"""Names that would do something if a text took them as they are."""

import numpy as np

import fallingcat as fc

HOSTILE = [
    "*/ int main(){return 1;} /*", '"; import os; os.system("false") #', "'''", '"""', "\\", "\\end{document}",
    "\\write18{id}", "\\input{/etc/passwd}", "%", "$", "#", "&", "_", "^", "~", "{", "}", "{{", "}}",
    "<script>alert(1)</script>", "<!--", "-->", "]]>", "../../x", "/abs", "C:\\x", "a\nb", "a\r\nb", "a\x01b",
    "\t", " ", "\u00e9", "\u65e5\u672c", "\u202e", "\u200b", "%{\nsystem('id')\n%}", "...\nsystem('id')", "`id`",
    "$(id)", "; rm x", "| cat", "end", "function", "robot", "q", "q_1", "PARAMETERS", "np", "??/\n", "\\\n",
    "\\newline", "\\catcode", "^^41", "=#", "#=", "@eval", "x" * 200, "-", ".", "..", "\x1b[31m",
    "\\immediate\\write18{touch TOUCHED}", "\\openout1=TOUCHED", "*/\n#include \"/etc/passwd\"\n/*",
    "\nsystem('touch TOUCHED');", "\n__import__('os').system('touch TOUCHED')", "\nrun(`touch TOUCHED`)",
    "=#\nrun(`touch TOUCHED`)\n#=", "%}\nsystem('touch TOUCHED');\n%{",
]  # fmt: skip
"""Those that would run something would leave a file TOUCHED."""


def hostile(name):
    links = (fc.Link(name, fc.Body(1.0, np.zeros(3), 0.1 * np.eye(3))), fc.Link(name + "'", fc.Body(1.0, [0.1, 0, 0])))
    knee = fc.Joint(name, fc.joints.Revolute(), name, name + "'")
    foot = fc.model.Frame(name + '"', name)
    return fc.Model(name, fc.lie.SE2(), links, (knee,), gravity=np.array([0.0, -9.81, 0.0]), frames=(foot,))


def crowd(names):
    """One robot with all of these names: of links and frames, of joints (all but the first are welds), of itself."""
    links = [fc.Link("base", fc.Body(1.0, np.zeros(3), 0.1 * np.eye(3)))]
    links += [fc.Link(name, fc.Body(0.1, [0.1, 0.0, 0.0], 0.01 * np.eye(3))) for name in names]
    kinds = [fc.joints.Revolute(), *(fc.joints.Fixed() for _ in names[1:])]
    joints = [fc.Joint(name, kind, "base", name) for name, kind in zip(names, kinds, strict=True)]
    frames = [fc.model.Frame(name + "'", name) for name in names]
    gravity = np.array([0.0, -9.81, 0.0])
    return fc.Model(" ".join(names), fc.lie.SE2(), tuple(links), tuple(joints), gravity=gravity, frames=tuple(frames))
