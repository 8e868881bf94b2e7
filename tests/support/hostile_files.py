"""Files within the limit of size that took minutes or gigabytes to read: each name gives a file's name and its text."""

BODY = "<inertial><mass value='1'/><inertia ixx='.1' iyy='.1' izz='.1' ixy='0' ixz='0' iyz='0'/></inertial>"
ROOM = 16 * 2**20 - 500


def urdf(inside):
    return f"<robot name='r'><link name='a'>{BODY}</link>{inside}</robot>"


def mjcf(inside, before=""):
    return f"<mujoco>{before}<worldbody><body name='a'>{inside}<geom size='.1'/></body></worldbody></mujoco>"


def massless_roots(count=9999):
    links = "".join(f"<link name='l{i}'/>" for i in range(count)) + f"<link name='l{count}'>{BODY}</link>"
    joints = "".join(
        f"<joint name='j{i}' type='fixed'><parent link='l{i}'/><child link='l{i + 1}'/></joint>" for i in range(count)
    )
    return f"<robot name='r'>{links}{joints}</robot>"


def unknown_attributes(count=3000, each=250):
    links = "".join(
        f"<link name='l{i}' " + " ".join(f"a{i}_{k}=''" for k in range(each)) + f">{BODY}</link>" for i in range(count)
    )
    joints = "".join(
        f"<joint name='j{i}' type='fixed'><parent link='l0'/><child link='l{i}'/></joint>" for i in range(1, count)
    )
    return f"<robot name='r'>{links}{joints}</robot>"


def toml(inside):
    return "base = 'free'\n[[link]]\nname = 'a'\nmass = 1\ninertia = [1, 1, 1]\n" + inside


def toml_joint(i):
    return f"[[joint]]\nname='j{i}'\ntype='fixed'\nparent='x{i}'\nchild='y{i}'\n"


FILES = {
    "massless_roots.urdf": massless_roots,
    "joints.urdf": lambda: urdf(
        "".join(f"<joint name='j{i}' type='fixed'><parent link='a'/><child link='b'/></joint>" for i in range(65_000))
    ),
    "comments_in_text.urdf": lambda: urdf("x<!---->" * (ROOM // 8)),
    "elements_in_text.urdf": lambda: urdf("aaaaaaaaaaaaaaaaaaaaaaaa<x/>" * 190_000),
    "cdata.urdf": lambda: urdf("<![CDATA[x]]>" * (ROOM // 13)),
    "unknown_attributes.urdf": unknown_attributes,
    "unknown_elements.urdf": lambda: urdf("".join(f"<x{i}/>" for i in range(190_000))),
    "empty_shapes.urdf": lambda: urdf("").replace(
        "</link>", "<visual>\n<geometry><sphere radius='0'/></geometry></visual>" * 60_000 + "</link>"
    ),
    "joints.xml": lambda: mjcf("<joint axis='0 0 1'/>" * 190_000),
    "joints_of_bodies.xml": lambda: mjcf("<body><joint/><joint axis='0 1 0'/><geom size='.1'/></body>" * 9_000),
    "geoms.xml": lambda: mjcf("<freejoint/>" + "<geom size='.1' euler='1 2 3'/>" * 190_000),
    "frames.xml": lambda: mjcf("<freejoint/>" + "<frame euler='1 2 3'/>" * 190_000),
    "meshes.xml": lambda: mjcf(
        "<freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>" + "<geom type='mesh' mesh='m5'/>" * 19_000,
        "<asset>" + "".join(f"<mesh name='m{i}' file='m{i}.stl'/>" for i in range(90_000)) + "</asset>",
    ),
    "wrong_references.toml": lambda: toml("".join(map(toml_joint, range(9_999)))),
    "frames.toml": lambda: toml("".join(f"[[frame]]\nname='f{i}'\nlink='a'\nrpy=[1,2,3]\n" for i in range(45_000))),
    "dots.toml": lambda: toml(".".join("a" * 1_000_000) + " = 1"),
}
