//! The drawing elements of a figure: lines, surfaces and text. `svg`, `pdf` and `png` write them.

/// The medium of a figure.
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
    /// The background of the figure.
    Surface,
    /// A series; beyond the number of colours they begin anew.
    Series(usize),
    /// The colour of a series, half as strong.
    Pale(usize),
    /// A shade between nothing (0) and everything (9).
    Shade(usize),
    /// Text on a shade.
    OnShade(usize),
}

/// Colours of series: Okabe and Ito's, in an order in which neighbours differ in lightness as well, and two greys.
const SERIES: [u32; 8] = [
    0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x6a4c93, 0x666666,
];
/// Shades, each darker than the one before.
const SHADES: [u32; 10] = [
    0xdcdcdc, 0xead3ad, 0xf3bf77, 0xf2a54c, 0xe8862c, 0xd4691b, 0xb75013, 0x973a10, 0x75270f,
    0x52160d,
];
/// Number of colours of series.
pub(super) const COLOURS: usize = SERIES.len();
/// Number of shades.
pub(super) const STEPS: usize = SHADES.len();

/// The colours of figures in a page: variables of the style sheet, for light and for dark surfaces.
pub const PALETTE_CSS: &str = include_str!("palette.css");

/// Dashes of lines and outlines by series; the first is solid.
pub(super) const DASHES: [&[u8]; 4] = [&[], &[7, 3], &[2, 3], &[9, 3, 2, 3]];

impl Paint {
    /// Red, green and blue on white paper.
    pub(super) fn rgb(self) -> u32 {
        match self {
            Self::Ink => 0x1a1a1a,
            Self::Muted => 0x555555,
            Self::Grid => 0xdddddd,
            Self::Surface => 0xffffff,
            Self::Series(at) => SERIES[at % COLOURS],
            // The mean with white, of each byte.
            Self::Pale(at) => (SERIES[at % COLOURS] >> 1 & 0x7f7f7f) + 0x7f7f7f,
            Self::Shade(at) => SHADES[at.min(STEPS - 1)],
            Self::OnShade(0..=5) => Self::Ink.rgb(),
            Self::OnShade(_) => Self::Surface.rgb(),
        }
    }

    /// The colour in SVG.
    pub(super) fn css(self, theme: Theme) -> String {
        if theme == Theme::File {
            return format!("#{:06x}", self.rgb());
        }
        match self {
            Self::Ink => "var(--ink)".to_owned(),
            Self::Muted => "var(--muted)".to_owned(),
            Self::Grid => "var(--grid)".to_owned(),
            Self::Surface => "var(--surface)".to_owned(),
            Self::Series(at) => format!("var(--s{})", at % COLOURS),
            Self::Pale(at) => {
                let strong = at % COLOURS;
                format!("color-mix(in srgb,var(--s{strong}),var(--surface))")
            }
            Self::Shade(at) => format!("var(--h{})", at.min(STEPS - 1)),
            Self::OnShade(0..=3) => "var(--ink)".to_owned(),
            Self::OnShade(4..=5) => "var(--mid)".to_owned(),
            Self::OnShade(_) => "var(--surface)".to_owned(),
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
    pub dashes: &'static [u8],
}

impl Stroke {
    pub(super) const fn new(paint: Paint, width: f64) -> Self {
        Self {
            paint,
            width,
            dashes: &[],
        }
    }
}

/// A part of a path.
#[derive(Debug, Clone, Copy)]
pub(super) enum Segment {
    Move([f64; 2]),
    Line([f64; 2]),
    /// Towards the first point, to the second.
    Bend([f64; 2], [f64; 2]),
    /// A rectangle of its own: left, top, width, height.
    Rect([f64; 4]),
    Close,
}

/// A path that is filled, stroked or both.
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub segments: Vec<Segment>,
    pub fill: Option<Paint>,
    pub stroke: Option<Stroke>,
    /// Corners of its line are round.
    pub round: bool,
    /// A tooltip.
    pub says: Option<String>,
}

/// A group of shapes that the script of a page can find: the data in its attributes.
pub(super) type Part = Vec<(&'static str, String)>;

/// Something drawn.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// Begins a group; only a page has it.
    Begin(Part),
    /// Ends the last group that has begun.
    End,
    Path(Path),
    Circle {
        at: [f64; 2],
        r: f64,
        fill: Paint,
        stroke: Stroke,
    },
    Text {
        at: [f64; 2],
        style: Style,
        text: String,
    },
}

/// The elements of a drawing, the lowest first.
#[derive(Debug, Default)]
pub(super) struct Canvas(pub Vec<Shape>);

impl Canvas {
    pub(super) fn begin(&mut self, part: Part) {
        self.0.push(Shape::Begin(part));
    }

    pub(super) fn end(&mut self) {
        self.0.push(Shape::End);
    }

    pub(super) fn line(&mut self, from: [f64; 2], to: [f64; 2], stroke: Stroke) {
        self.stroked(vec![Segment::Move(from), Segment::Line(to)], stroke);
    }

    /// A line through points.
    pub(super) fn path(&mut self, points: &[[f64; 2]], stroke: Stroke) {
        if points.is_empty() {
            return;
        }
        self.0.push(Shape::Path(Path {
            segments: through(points).collect(),
            fill: None,
            stroke: Some(stroke),
            round: true,
            says: None,
        }));
    }

    /// A line that bends towards a control point, with a tooltip.
    pub(super) fn bend(
        &mut self,
        [from, by, to]: [[f64; 2]; 3],
        stroke: Stroke,
        says: Option<&str>,
    ) {
        self.0.push(Shape::Path(Path {
            segments: vec![Segment::Move(from), Segment::Bend(by, to)],
            fill: None,
            stroke: Some(stroke),
            round: false,
            says: says.map(str::to_owned),
        }));
    }

    /// A rectangle, with a tooltip.
    pub(super) fn rect(&mut self, area: [f64; 4], paint: Paint, says: Option<&str>) {
        self.filled(vec![Segment::Rect(area)], paint, says);
    }

    /// Many rectangles of one colour in one element.
    pub(super) fn rects(&mut self, areas: &[[f64; 4]], paint: Paint) {
        if !areas.is_empty() {
            let areas = areas.iter().copied().map(Segment::Rect);
            self.filled(areas.collect(), paint, None);
        }
    }

    /// The outline of a rectangle over the surface.
    pub(super) fn frame(&mut self, area: [f64; 4], stroke: Stroke) {
        self.stroked(vec![Segment::Rect(area)], stroke);
    }

    /// The surface between a line and another one, given backwards.
    pub(super) fn area(&mut self, points: &[[f64; 2]], paint: Paint) {
        let segments = through(points).chain([Segment::Close]);
        self.filled(segments.collect(), paint, None);
    }

    /// A closed shape; hollow ones show the surface.
    pub(super) fn shape(&mut self, points: &[[f64; 2]], paint: Paint, hollow: bool) {
        self.0.push(Shape::Path(Path {
            segments: through(points).chain([Segment::Close]).collect(),
            fill: Some(if hollow { Paint::Surface } else { paint }),
            stroke: Some(Stroke::new(paint, 1.5)),
            round: false,
            says: None,
        }));
    }

    pub(super) fn circle(&mut self, at: [f64; 2], r: f64, paint: Paint, hollow: bool) {
        self.0.push(Shape::Circle {
            at,
            r,
            fill: if hollow { Paint::Surface } else { paint },
            stroke: Stroke::new(paint, 1.5),
        });
    }

    pub(super) fn text(&mut self, at: [f64; 2], style: Style, text: &str) {
        let text = text.to_owned();
        self.0.push(Shape::Text { at, style, text });
    }

    fn filled(&mut self, segments: Vec<Segment>, paint: Paint, says: Option<&str>) {
        self.0.push(Shape::Path(Path {
            segments,
            fill: Some(paint),
            stroke: None,
            round: false,
            says: says.map(str::to_owned),
        }));
    }

    fn stroked(&mut self, segments: Vec<Segment>, stroke: Stroke) {
        self.0.push(Shape::Path(Path {
            segments,
            fill: None,
            stroke: Some(stroke),
            round: false,
            says: None,
        }));
    }
}

fn through(points: &[[f64; 2]]) -> impl Iterator<Item = Segment> {
    points.iter().enumerate().map(|(at, &point)| match at {
        0 => Segment::Move(point),
        _ => Segment::Line(point),
    })
}

/// A figure that is laid out.
#[derive(Debug)]
pub(super) struct Sheet {
    pub width: f64,
    pub height: f64,
    /// Its name.
    pub label: String,
    pub shapes: Vec<Shape>,
}

/// A coordinate to a tenth of a pixel.
pub(super) fn tenths(value: f64) -> f64 {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded == 0.0 || !rounded.is_finite() {
        0.0
    } else {
        rounded
    }
}
