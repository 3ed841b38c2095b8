//! The texts of a figure that a caller may replace: the labels of its axes, and the names of series and categories.

use super::axis::Axis;
use super::chart::{Chart, Figure};

impl Figure {
    /// Replaces the label of the horizontal axis, its unit included. Returns whether the figure has one.
    pub fn set_x_label(&mut self, text: &str) -> bool {
        self.chart.set_x_label(text)
    }

    /// Replaces the label of the vertical axis, its unit included. Returns whether the figure has one.
    pub fn set_y_label(&mut self, text: &str) -> bool {
        self.chart.set_y_label(text)
    }

    /// The names of series, categories and panels, in the order of the figure.
    pub fn names_mut(&mut self) -> Vec<&mut String> {
        let mut names = Vec::new();
        self.chart.add_names(&mut names);
        names
    }

    /// Writes `to` for the name `from`, also where `from` is one of several names with commas between them. Returns
    /// whether there is such a name.
    pub fn rename(&mut self, from: &str, to: &str) -> bool {
        let mut found = false;
        for name in self.names_mut() {
            let mut renamed = |part| {
                if part == from {
                    found = true;
                    to
                } else {
                    part
                }
            };
            *name = if name == from {
                renamed(from).to_owned()
            } else {
                name.split(", ").map(renamed).collect::<Vec<_>>().join(", ")
            };
        }
        found
    }
}

impl Chart {
    fn set_x_label(&mut self, text: &str) -> bool {
        match self {
            Self::Bars(bars) => text.clone_into(&mut bars.groups),
            Self::Stacks(stacks) => stacks.axis = Axis::new(text, ""),
            Self::Curves(curves) => curves.x = Axis::new(text, ""),
            Self::Matrix(matrix) => text.clone_into(&mut matrix.columns),
            Self::Spans(spans) => spans.x = Axis::new(text, ""),
            Self::Network(_) => return false,
            Self::Column(charts) => return any(charts, |chart| chart.set_x_label(text)),
        }
        true
    }

    fn set_y_label(&mut self, text: &str) -> bool {
        match self {
            Self::Bars(bars) => bars.axis = Axis::new(text, ""),
            Self::Curves(curves) => curves.y = Axis::new(text, ""),
            Self::Matrix(matrix) => text.clone_into(&mut matrix.rows),
            Self::Spans(spans) => text.clone_into(&mut spans.of),
            Self::Stacks(_) | Self::Network(_) => return false,
            Self::Column(charts) => return any(charts, |chart| chart.set_y_label(text)),
        }
        true
    }

    fn add_names<'a>(&'a mut self, names: &mut Vec<&'a mut String>) {
        match self {
            Self::Bars(bars) => {
                names.extend(&mut bars.series);
                for panel in &mut bars.panels {
                    names.push(&mut panel.name);
                    names.extend(panel.groups.iter_mut().map(|group| &mut group.name));
                }
            }
            Self::Stacks(stacks) => {
                names.extend(&mut stacks.parts);
                names.extend(stacks.stacks.iter_mut().map(|stack| &mut stack.name));
            }
            Self::Curves(curves) => {
                names.extend(&mut curves.series);
                names.extend(curves.panels.iter_mut().map(|panel| &mut panel.name));
            }
            Self::Matrix(matrix) => names.extend(&mut matrix.names),
            Self::Spans(spans) => {
                names.extend(&mut spans.names);
                names.extend(spans.rows.iter_mut().map(|row| &mut row.name));
            }
            Self::Network(network) => {
                names.extend(network.rows.iter_mut().map(|(_, name)| name));
                names.extend(network.key.iter_mut().map(|(name, _)| name));
            }
            Self::Column(charts) => charts.iter_mut().for_each(|chart| chart.add_names(names)),
        }
    }
}

/// Whether any of the charts was changed; all of them are tried.
fn any(charts: &mut [Chart], change: impl FnMut(&mut Chart) -> bool) -> bool {
    charts
        .iter_mut()
        .map(change)
        .fold(false, |any, one| any | one)
}
