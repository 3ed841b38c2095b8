//! The speeds of links that a file tells; `ibnetdiscover` as width and generation: `4xQDR`.

use crate::config::document::ConfigError;
use crate::fabric::ids::SwitchPort;
use crate::fabric::spec::LinkSpeed;
use crate::units::{Ratio, number};
use flitwise_base::quote::quoted;
use flitwise_formats::infiniband::{Discovery, Port};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The speeds of links in a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileSpeeds {
    path: PathBuf,
    links: Vec<Link>,
    /// Whether some links between switches, or to NICs, keep the speed of the preset because the file tells none.
    keep: [bool; 2],
}

/// The speed of one link in a file.
#[derive(Debug, Clone, PartialEq)]
struct Link {
    /// Its port of a switch; of two, the lower one.
    at: SwitchPort,
    /// It leads to a NIC.
    host: bool,
    line: usize,
    /// As a dump writes it; empty in a graph.
    speed: String,
    /// Data rate in bit/s, if it is known.
    rate: Option<Ratio>,
}

/// The speed of most links, and links that differ, in bit/s.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Speeds {
    usual: Option<Ratio>,
    others: BTreeMap<SwitchPort, Ratio>,
}

impl Speeds {
    /// Replaces the usual speed, if any was told, and adds the links that differ.
    pub(crate) fn take(self, usual: &mut Ratio, others: &mut BTreeMap<SwitchPort, Ratio>) {
        if let Some(own) = self.usual {
            *usual = own;
        }
        others.extend(self.others);
    }
}

impl FileSpeeds {
    /// The speeds in `found`, which was read from the file `path`. `place`: the port of a switch here.
    pub(crate) fn of(
        found: &Discovery,
        place: impl Fn(Port) -> Option<SwitchPort>,
        path: &Path,
    ) -> Self {
        let links = found.cables.iter().filter_map(|(&own, cable)| {
            let at = place(own)?;
            let host = place(cable.to).is_none();
            let first = host || own < cable.to;
            let speed = found.speeds.get(&own).or(found.speeds.get(&cable.to));
            let speed = speed?.clone();
            first.then(|| Link {
                at,
                host,
                line: cable.line,
                rate: rate_called(&speed),
                speed,
            })
        });
        Self {
            path: path.to_owned(),
            links: links.collect(),
            keep: [false; 2],
        }
    }

    /// The speeds of links in a graph, from the file `path`: port, whether it leads to a NIC, line and bit/s of each.
    /// `counts`: links between switches, and to NICs.
    pub(crate) fn of_graph(
        links: Vec<(SwitchPort, bool, u32, Ratio)>,
        counts: [usize; 2],
        path: &Path,
    ) -> Self {
        let known = |host: bool| links.iter().filter(|link| link.1 == host).count();
        let keep = [counts[0] > known(false), counts[1] > known(true)];
        let links = links.into_iter().map(|(at, host, line, rate)| Link {
            at,
            host,
            line: line as usize,
            speed: String::new(),
            rate: Some(rate),
        });
        Self {
            path: path.to_owned(),
            links: links.collect(),
            keep,
        }
    }

    /// Refuses a link of another rate than `only`, in bit/s.
    pub(crate) fn check_only(&self, only: Ratio) -> Result<(), ConfigError> {
        let other = |link: &Link| Some((link.line, link.rate.filter(|rate| *rate != only)?));
        let Some((line, rate)) = self.links.iter().find_map(other) else {
            return Ok(());
        };
        let gbit = |rate: Ratio| number(rate.to_f64() / 1e9);
        Err(ConfigError::new(
            "fabric.topology.file",
            format!(
                "{}:{}: a link of {} Gb/s, and all links of hierarchical switches have {} Gb/s; take kind = \"voq\", or \
                 set fabric.link_rate, which then holds for all",
                self.path.display(),
                line,
                gbit(rate),
                gbit(only)
            ),
        ))
    }

    /// The speeds of the links to NICs (`host`), or between switches. Of two that are equally frequent the
    /// faster is the usual one.
    pub(crate) fn usual(&self, host: bool) -> Result<Speeds, ConfigError> {
        let mut counts: Vec<(Ratio, usize)> = Vec::new();
        let mut all = Vec::new();
        for link in self.links.iter().filter(|link| link.host == host) {
            let rate = link.rate.ok_or_else(|| self.unknown(link))?;
            match counts.iter_mut().find(|(known, _)| *known == rate) {
                Some((_, count)) => *count += 1,
                None => counts.push((rate, 1)),
            }
            all.push((link.at, rate));
        }
        if self.keep[usize::from(host)] {
            return Ok(Speeds {
                usual: None,
                others: all.into_iter().collect(),
            });
        }
        let usual = counts.iter().max_by_key(|&&(rate, count)| (count, rate));
        let Some(&(usual, _)) = usual else {
            return Ok(Speeds::default());
        };
        let others = all.into_iter().filter(|&(_, rate)| rate != usual);
        Ok(Speeds {
            usual: Some(usual),
            others: others.collect(),
        })
    }

    /// The preset with switches of the generation of most links between switches, or else of most links to NICs; `None` if no
    /// speed is told.
    pub(crate) fn preset(&self) -> Option<&'static str> {
        let mut counts: BTreeMap<(bool, &str), usize> = BTreeMap::new();
        for link in &self.links {
            let generation = link.speed.split_once('x').map_or("", |(_, name)| name);
            *counts.entry((!link.host, generation)).or_default() += 1;
        }
        let ((_, generation), _) = counts
            .into_iter()
            .max_by_key(|&((between, _), count)| (between, count))?;
        Some(match generation {
            "FDR10" | "FDR" => "ib-fdr",
            "EDR" => "ib-edr",
            "HDR" => "ib-hdr",
            "NDR" => "ib-ndr",
            "XDR" => "ib-xdr",
            // Slower links have a speed of their own in the dump.
            _ => "ib-qdr",
        })
    }

    /// The first link, by its line, with a width that no link of InfiniBand has, and its speed.
    pub(crate) fn impossible(&self) -> Option<(usize, &str)> {
        let is_width = |link: &&Link| match link.speed.split_once('x') {
            Some((width, _)) => format!("SDR x{width}").parse::<LinkSpeed>().is_ok(),
            None => true,
        };
        let mut links = self.links.iter().filter(|link| !is_width(link));
        links.next().map(|link| (link.line, link.speed.as_str()))
    }

    /// The speeds that are told and known, in bit/s, by the port of a switch; of a link between two, the lower one.
    pub(crate) fn known(&self) -> BTreeMap<SwitchPort, f64> {
        let rate = |link: &Link| Some((link.at, link.rate?.to_f64()));
        self.links.iter().filter_map(rate).collect()
    }

    fn unknown(&self, link: &Link) -> ConfigError {
        let key = if link.host {
            "fabric.host_link_speed"
        } else {
            "fabric.link_speed"
        };
        ConfigError::new(
            "fabric.topology.file",
            format!(
                "{}:{}: unknown link speed {}; the known ones are SDR to XDR with 1x to 12x; set \
                 {key} for all such links",
                self.path.display(),
                link.line,
                quoted(&link.speed)
            ),
        )
    }
}

/// Data rate in bit/s of the speed that a dump calls `text`.
fn rate_called(text: &str) -> Option<Ratio> {
    let (width, generation) = text.split_once('x')?;
    let speed: LinkSpeed = format!("{generation} x{width}").parse().ok()?;
    Some(speed.bits_per_second())
}
