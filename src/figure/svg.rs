//! Writes SVG.

use std::fmt::Write;

/// What a figure is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// A file: fixed colours on white, with a title.
    File,
    /// A page that has [`PALETTE_CSS`]. The page has the title.
    Page,
}

/// Colours, by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    /// Text and axes.
    Ink,
    /// Text that is less important.
    Muted,
    /// Lines of a grid.
    Grid,
    /// What is behind everything.
    Surface,
    /// A series; beyond the number of colours they begin anew.
    Series(usize),
    /// A shade between nothing (0) and everything (9).
    Shade(usize),
}

/// Colours of series: Okabe and Ito's, in an order in which neighbours differ in lightness as well, and two greys.
const SERIES: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6a4c93", "#666666",
];
/// Shades, each darker than the one before.
const SHADES: [&str; 10] = [
    "#dcdcdc", "#ead3ad", "#f3bf77", "#f2a54c", "#e8862c", "#d4691b", "#b75013", "#973a10",
    "#75270f", "#52160d",
];
/// Number of colours of series.
pub(super) const COLOURS: usize = SERIES.len();
/// Number of shades.
pub(super) const STEPS: usize = SHADES.len();

/// The colours of figures in a page: variables of the style sheet, for light and for dark surfaces.
pub const PALETTE_CSS: &str = include_str!("palette.css");

/// Dashes of lines and outlines by series; the first is solid.
pub(super) const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];

impl Paint {
    fn css(self, theme: Theme) -> String {
        match (theme, self) {
            (Theme::File, Self::Ink) => "#1a1a1a".to_owned(),
            (Theme::File, Self::Muted) => "#555555".to_owned(),
            (Theme::File, Self::Grid) => "#dddddd".to_owned(),
            (Theme::File, Self::Surface) => "#ffffff".to_owned(),
            (Theme::File, Self::Series(at)) => SERIES[at % COLOURS].to_owned(),
            (Theme::File, Self::Shade(at)) => SHADES[at.min(STEPS - 1)].to_owned(),
            (Theme::Page, Self::Ink) => "var(--ink)".to_owned(),
            (Theme::Page, Self::Muted) => "var(--muted)".to_owned(),
            (Theme::Page, Self::Grid) => "var(--grid)".to_owned(),
            (Theme::Page, Self::Surface) => "var(--surface)".to_owned(),
            (Theme::Page, Self::Series(at)) => format!("var(--s{})", at % COLOURS),
            (Theme::Page, Self::Shade(at)) => format!("var(--h{})", at.min(STEPS - 1)),
        }
    }
}

/// Where a text is relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub size: f64,
    pub paint: Paint,
    pub anchor: Anchor,
    pub bold: bool,
    /// Reads upwards.
    pub upright: bool,
}

impl Style {
    pub(super) const fn new(size: f64, paint: Paint) -> Self {
        Self {
            size,
            paint,
            anchor: Anchor::Start,
            bold: false,
            upright: false,
        }
    }

    pub(super) const fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    pub(super) const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(super) const fn upright(self) -> Self {
        Self {
            upright: true,
            ..self
        }
    }
}

/// A line's colour, width and dashes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stroke {
    pub paint: Paint,
    pub width: f64,
    pub dashes: &'static str,
}

impl Stroke {
    pub(super) const fn new(paint: Paint, width: f64) -> Self {
        Self {
            paint,
            width,
            dashes: "",
        }
    }
}

/// The content of an `svg` element that is being drawn.
pub(super) struct Svg {
    pub theme: Theme,
    text: String,
}

impl Svg {
    pub(super) fn new(theme: Theme) -> Self {
        Self {
            theme,
            text: String::new(),
        }
    }

    pub(super) fn line(&mut self, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], stroke: Stroke) {
        let (x1, y1, x2, y2) = (short(x1), short(y1), short(x2), short(y2));
        let stroke = self.stroke(stroke);
        self.push(format_args!("<path d=\"M{x1} {y1}L{x2} {y2}\"{stroke}/>"));
    }

    /// A line through points.
    pub(super) fn path(&mut self, points: &[[f64; 2]], stroke: Stroke) {
        let Some(([x, y], rest)) = points.split_first() else {
            return;
        };
        let mut d = format!("M{} {}", short(*x), short(*y));
        for [x, y] in rest {
            let _ = write!(d, "L{} {}", short(*x), short(*y));
        }
        let stroke = self.stroke(stroke);
        self.push(format_args!(
            "<path d=\"{d}\" fill=\"none\" stroke-linejoin=\"round\"{stroke}/>"
        ));
    }

    /// A line that bends towards a control point, with a tooltip.
    pub(super) fn bend(
        &mut self,
        [from, by, to]: [[f64; 2]; 3],
        stroke: Stroke,
        says: Option<&str>,
    ) {
        let d = format!(
            "M{} {}Q{} {} {} {}",
            short(from[0]),
            short(from[1]),
            short(by[0]),
            short(by[1]),
            short(to[0]),
            short(to[1])
        );
        let stroke = self.stroke(stroke);
        let title = self.title(says);
        self.push(format_args!(
            "<path d=\"{d}\" fill=\"none\"{stroke}>{title}</path>"
        ));
    }

    /// A rectangle, with a tooltip.
    pub(super) fn rect(&mut self, [x, y, w, h]: [f64; 4], paint: Paint, says: Option<&str>) {
        let (x, y, w, h) = (short(x), short(y), short(w), short(h));
        let fill = paint.css(self.theme);
        let title = self.title(says);
        match title.is_empty() {
            true => self.push(format_args!(
                "<path d=\"M{x} {y}h{w}v{h}h-{w}z\" fill=\"{fill}\"/>"
            )),
            false => self.push(format_args!(
                "<path d=\"M{x} {y}h{w}v{h}h-{w}z\" fill=\"{fill}\">{title}</path>"
            )),
        }
    }

    /// Many rectangles of one colour in one element.
    pub(super) fn rects(&mut self, boxes: &[[f64; 4]], paint: Paint) {
        if boxes.is_empty() {
            return;
        }
        let mut d = String::new();
        for [x, y, w, h] in boxes {
            let (x, y, w, h) = (short(*x), short(*y), short(*w), short(*h));
            let _ = write!(d, "M{x} {y}h{w}v{h}h-{w}z");
        }
        let fill = paint.css(self.theme);
        self.push(format_args!("<path d=\"{d}\" fill=\"{fill}\"/>"));
    }

    /// The outline of a rectangle over the surface.
    pub(super) fn frame(&mut self, [x, y, w, h]: [f64; 4], stroke: Stroke) {
        let stroke = self.stroke(stroke);
        let (x, y, w, h) = (short(x), short(y), short(w), short(h));
        self.push(format_args!(
            "<path d=\"M{x} {y}h{w}v{h}h-{w}z\" fill=\"none\"{stroke}/>"
        ));
    }

    /// A closed shape; hollow ones show the surface.
    pub(super) fn shape(&mut self, points: &[[f64; 2]], paint: Paint, hollow: bool) {
        let mut d = String::new();
        for (at, [x, y]) in points.iter().enumerate() {
            let command = if at == 0 { 'M' } else { 'L' };
            let _ = write!(d, "{command}{} {}", short(*x), short(*y));
        }
        let fill = if hollow { Paint::Surface } else { paint }.css(self.theme);
        let stroke = self.stroke(Stroke::new(paint, 1.5));
        self.push(format_args!("<path d=\"{d}z\" fill=\"{fill}\"{stroke}/>"));
    }

    pub(super) fn circle(&mut self, [x, y]: [f64; 2], r: f64, paint: Paint, hollow: bool) {
        let fill = if hollow { Paint::Surface } else { paint }.css(self.theme);
        let stroke = self.stroke(Stroke::new(paint, 1.5));
        let (x, y, r) = (short(x), short(y), short(r));
        self.push(format_args!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"{fill}\"{stroke}/>"
        ));
    }

    pub(super) fn text(&mut self, [x, y]: [f64; 2], style: Style, text: &str) {
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
        let turned = match style.upright {
            true => format!(" transform=\"rotate(-90 {x} {y})\""),
            false => String::new(),
        };
        let (size, fill) = (short(style.size), style.paint.css(self.theme));
        let text = escaped(text);
        self.push(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{fill}\"{anchor}{bold}{turned}>{text}</text>"
        ));
    }

    fn stroke(&self, stroke: Stroke) -> String {
        let (paint, width) = (stroke.paint.css(self.theme), short(stroke.width));
        let dashes = match stroke.dashes {
            "" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        };
        format!(" stroke=\"{paint}\" stroke-width=\"{width}\"{dashes}")
    }

    /// A tooltip; files have none.
    fn title(&self, says: Option<&str>) -> String {
        match (says, self.theme) {
            (Some(says), Theme::Page) => format!("<title>{}</title>", escaped(says)),
            _ => String::new(),
        }
    }

    fn push(&mut self, part: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text, "{part}");
    }

    /// The whole element.
    pub(super) fn finish(self, width: f64, height: f64, label: &str) -> String {
        let (width, height) = (short(width.ceil()), short(height.ceil()));
        let label = escaped(label);
        let (size, ground) = match self.theme {
            Theme::File => (
                format!(" width=\"{width}\" height=\"{height}\""),
                format!(
                    "<title>{label}</title><path d=\"M0 0h{width}v{height}h-{width}z\" fill=\"#ffffff\"/>\n"
                ),
            ),
            Theme::Page => (format!(" style=\"max-width:{width}px\""), String::new()),
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\"{size} role=\"img\" \
             aria-label=\"{label}\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\">\n{ground}{}</svg>\n",
            self.text
        )
    }
}

/// A text as content or attribute of an element. Characters that XML does not have are left out.
pub(super) fn escaped(text: &str) -> String {
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

/// A coordinate to a tenth of a pixel.
fn short(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    match rounded == 0.0 || !rounded.is_finite() {
        true => "0".to_owned(),
        false => format!("{rounded}"),
    }
}

/// About how wide a text is: no font is needed to know it, and none is much wider.
pub(super) fn width_of(text: &str, size: f64) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' => 0.32,
        'f' | 't' | 'r' | ' ' | '(' | ')' | '[' | ']' | '/' | '-' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.92,
        c if c.is_ascii_uppercase() => 0.69,
        c if c.is_ascii() => 0.61,
        c if (c as u32) >= 0x2e80 => 1.0,
        _ => 0.64,
    };
    size * text.chars().map(of).sum::<f64>()
}

/// A text of at most `room` pixels: what does not fit is cut off.
pub(super) fn fitted(text: &str, size: f64, room: f64) -> String {
    if width_of(text, size) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width_of(&kept, size) + size * 0.7 > room {
            kept.pop();
            break;
        }
    }
    format!("{}…", kept.trim_end())
}

/// The lines of a text that is broken at spaces.
pub(super) fn broken(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width_of(line, size) + width_of(word, size) + 0.4 * size <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| fitted(line, size, room)).collect()
}
