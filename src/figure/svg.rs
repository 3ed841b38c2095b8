//! Writes SVG.

use super::canvas::{Anchor, Path, Segment, Shape, Sheet, Stroke, Style, Theme, tenths};
use std::fmt::Write;

/// The whole element.
pub(super) fn svg(sheet: &Sheet, theme: Theme) -> String {
    let (width, height) = (short(sheet.width), short(sheet.height));
    let label = escaped(&sheet.label);
    let (size, ground) = match theme {
        Theme::File => (
            format!(" width=\"{width}\" height=\"{height}\""),
            format!(
                "<title>{label}</title><path d=\"M0 0h{width}v{height}h-{width}z\" fill=\"#ffffff\"/>\n"
            ),
        ),
        Theme::Page => (format!(" style=\"max-width:{width}px\""), String::new()),
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\"{size} role=\"img\" \
         aria-label=\"{label}\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\">\n{ground}"
    );
    for shape in &sheet.shapes {
        let element = element(shape, theme);
        if !element.is_empty() {
            out.push_str(&element);
            out.push('\n');
        }
    }
    out.push_str("</svg>\n");
    out
}

fn element(shape: &Shape, theme: Theme) -> String {
    match shape {
        Shape::Begin(_) | Shape::End if theme == Theme::File => String::new(),
        Shape::Begin(part) => {
            let attribute =
                |(name, value): &(&str, String)| format!(" data-{name}=\"{}\"", escaped(value));
            format!("<g{}>", part.iter().map(attribute).collect::<String>())
        }
        Shape::End => "</g>".to_owned(),
        Shape::Path(path) => path_element(path, theme),
        Shape::Circle {
            at: [x, y],
            r,
            fill,
            stroke,
        } => {
            let (x, y, r) = (short(*x), short(*y), short(*r));
            let (fill, stroke) = (fill.css(theme), stroke_attributes(*stroke, theme));
            format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"{fill}\"{stroke}/>")
        }
        Shape::Text { at, style, text } => text_element(*at, *style, text, theme),
    }
}

fn path_element(path: &Path, theme: Theme) -> String {
    let mut d = String::new();
    for segment in &path.segments {
        let _ = match segment {
            Segment::Move([x, y]) => write!(d, "M{} {}", short(*x), short(*y)),
            Segment::Line([x, y]) => write!(d, "L{} {}", short(*x), short(*y)),
            Segment::Bend([bx, by], [x, y]) => write!(
                d,
                "Q{} {} {} {}",
                short(*bx),
                short(*by),
                short(*x),
                short(*y)
            ),
            Segment::Rect([x, y, w, h]) => {
                let (x, y, w, h) = (short(*x), short(*y), short(*w), short(*h));
                write!(d, "M{x} {y}h{w}v{h}h-{w}z")
            }
            Segment::Close => write!(d, "z"),
        };
    }
    let bends = matches!(path.segments[..], [_, Segment::Bend(..)]);
    let is_straight = matches!(path.segments[..], [_, Segment::Line(_)]) && !path.round;
    let mut out = format!("<path d=\"{d}\"");
    match path.fill {
        Some(paint) => out += &format!(" fill=\"{}\"", paint.css(theme)),
        // A line has no inside.
        None if is_straight => {}
        None => out += " fill=\"none\"",
    }
    if path.round {
        out += " stroke-linejoin=\"round\"";
    }
    if let Some(stroke) = path.stroke {
        out += &stroke_attributes(stroke, theme);
    }
    // Files have no tooltips.
    let title = match (&path.says, theme) {
        (Some(says), Theme::Page) => format!("<title>{}</title>", escaped(says)),
        _ => String::new(),
    };
    out += &if title.is_empty() && !bends {
        "/>".to_owned()
    } else {
        format!(">{title}</path>")
    };
    out
}

fn text_element([x, y]: [f64; 2], style: Style, text: &str, theme: Theme) -> String {
    let (x, y) = (short(x), short(y));
    let anchor = match style.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let bold = if style.bold {
        " font-weight=\"600\""
    } else {
        ""
    };
    let turned = if style.upright {
        format!(" transform=\"rotate(-90 {x} {y})\"")
    } else {
        String::new()
    };
    let (size, fill) = (short(style.size), style.paint.css(theme));
    let text = escaped(text);
    format!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{fill}\"{anchor}{bold}{turned}>{text}</text>"
    )
}

fn stroke_attributes(stroke: Stroke, theme: Theme) -> String {
    let (paint, width) = (stroke.paint.css(theme), short(stroke.width));
    let mut out = format!(" stroke=\"{paint}\" stroke-width=\"{width}\"");
    if !stroke.dashes.is_empty() {
        let dashes: Vec<String> = stroke.dashes.iter().map(u8::to_string).collect();
        out += &format!(" stroke-dasharray=\"{}\"", dashes.join(" "));
    }
    out
}

/// A text as content or attribute of an element. Characters that XML does not have are left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

fn short(value: f64) -> String {
    tenths(value).to_string()
}
