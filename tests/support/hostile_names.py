"""Names that would be markup, script, LaTeX, a format or a steered terminal where they are not escaped."""

SCRIPTS = (
    'x<iframe srcdoc="<script>top.hit=1<&#47;script>">',
    "<img src=x onerror=top.hit=1>",
    "<svg onload=top.hit=1>",
    "{(globalThis.hit=1)}",
    "export const a = (globalThis.hit=1)",
    "[x](javascript:top.hit=1)",
    "<script>top.hit=1</script>",
    "</script><script>top.hit=1</script>",
    "`${top.hit=1}`",
    "\"onmouseover=top.hit=1 x='",
)
"""Each sets ``hit`` of the window where it runs."""
OTHERS = ("[bold]{0}[/]", "{task.__class__}", r"\input{/etc/passwd}", "*/ exit(1); /*", "$x^$", "%(name)s", "a_b^c~#&")
NAMES = SCRIPTS + OTHERS


def attribute(text: str) -> str:
    """As an attribute of XML, slashes too, so that nothing looks like a path."""
    from html import escape

    return escape(text, quote=True).replace("/", "&#47;")


def urdf(names=NAMES) -> str:
    """A chain of links whose names, joints and meshes are all hostile."""
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links, joints = [], []
    for k, name in enumerate(map(attribute, names)):
        mesh = f'<visual><geometry><mesh filename="{name}.stl"/></geometry></visual>'
        links.append(f'<link name="{name}">{body}{mesh}</link>')
        if k:
            parent = attribute(names[k - 1])
            joints.append(
                f'<joint name="j{name}" type="revolute"><parent link="{parent}"/><child link="{name}"/>'
                '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
            )
    return f'<robot name="{attribute(SCRIPTS[0])}">{"".join(links)}{"".join(joints)}</robot>'
