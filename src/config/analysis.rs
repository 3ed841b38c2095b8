//! `[congestion]`: the request for a static analysis of the fabric.

use crate::config::document::{ConfigError, given, read, refused};
use crate::fabric::spec::FabricSpec;
use crate::oblivious::{self, Given, Graph, HostList, PathChoice, Pattern, Request, Subset};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// The keys as written, named after the options of `flitwise congestion`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawRequest {
    /// The pattern, or the first of two.
    #[schemars(extend("default" = "bisect"))]
    pub pattern: Option<String>,
    /// A file with pairs in place of a pattern.
    pub pairs: Option<String>,
    /// A second pattern at the same time.
    pub against: Option<String>,
    /// How many ranks the first one of two patterns has.
    pub part: Option<u32>,
    /// Only this level of the pattern, from 0.
    #[schemars(extend("x-default" = "all"))]
    pub level: Option<u32>,
    /// Number of ranks.
    #[schemars(extend("x-default" = "one per host; as many as `pairs` has"))]
    pub ranks: Option<u32>,
    /// Which hosts take part.
    #[schemars(extend("x-default" = "random; with `in_order` first"))]
    pub subset: Option<Subset>,
    /// A file of hosts, in place of `subset`.
    pub hosts: Option<String>,
    /// A list of hosts such as `"node[001-016,020]"`, in place of `subset`.
    pub nodes: Option<String>,
    /// True: rank r stays on the r-th host.
    #[schemars(extend("default" = false))]
    pub in_order: Option<bool>,
    /// Which address of a host.
    #[schemars(extend("default" = "first"))]
    pub path: Option<PathChoice>,
    /// True: max-min fair bandwidths too.
    #[schemars(extend("default" = false))]
    pub fair: Option<bool>,
    /// True: the longest path through the levels too.
    #[schemars(extend("default" = false))]
    pub delay: Option<bool>,
    /// True: the most connections of a permutation on a cable too.
    #[schemars(extend("default" = false))]
    pub worst: Option<bool>,
    /// True: leaves out pairs without a route; otherwise they are an error.
    #[schemars(extend("default" = false))]
    pub skip_lost: Option<bool>,
    /// Number of random mappings, 1 to 1048576; a study makes as many for each of its seeds.
    #[schemars(extend("default" = 1))]
    pub runs: Option<u64>,
}

fn error<T>(key: &str, problem: impl Into<String>) -> Result<T, ConfigError> {
    refused(format!("congestion.{key}"), problem)
}

/// The request of the table; files are looked for in `dir`.
pub(crate) fn request(raw: &RawRequest, dir: &Path) -> Result<Request, ConfigError> {
    let usual = Request::default();
    let pattern = match (&raw.pattern, &raw.pairs) {
        (Some(_), Some(_)) => return error("pairs", "is a pattern of its own; remove `pattern`"),
        (None, Some(file)) => given(file, dir)?,
        (Some(name), None) => named(name, "pattern")?,
        (None, None) => usual.pattern,
    };
    let against = raw.against.as_deref().map(|name| named(name, "against"));
    let against = against.transpose()?;
    match (&against, raw.part) {
        (Some(_), None) => {
            return error(
                "against",
                "is a second pattern; say with `part` how many ranks the first one has",
            );
        }
        (None, Some(_)) => {
            return error(
                "part",
                "is the number of ranks of the first of two patterns; name the second one with `against`, or remove it",
            );
        }
        _ => {}
    }
    let runs = raw.runs.unwrap_or(usual.runs);
    if !(1..=Request::MOST_RUNS).contains(&runs) {
        let most = Request::MOST_RUNS;
        return error("runs", format!("{runs} is out of range; 1 to {most}"));
    }
    if raw.ranks == Some(0) {
        return error(
            "ranks",
            "a pattern needs at least one rank; 1 or more, or remove it",
        );
    }
    let path = raw.path.unwrap_or(usual.path);
    // A fabric has one address for each NIC.
    path.check(1).or_else(|problem| error("path", problem))?;
    Ok(Request {
        pattern,
        against,
        part: raw.part,
        level: raw.level,
        ranks: raw.ranks,
        subset: raw.subset.clone(),
        hosts: hosts(raw, dir)?,
        in_order: raw.in_order.unwrap_or(usual.in_order),
        path,
        fair: raw.fair.unwrap_or(usual.fair),
        delay: raw.delay.unwrap_or(usual.delay),
        worst: raw.worst.unwrap_or(usual.worst),
        skip_lost: raw.skip_lost.unwrap_or(usual.skip_lost),
        runs,
    })
}

/// Like [`request`], but checks that the request fits `fabric`, and lists its hosts by their numbers.
pub(crate) fn on(
    raw: &RawRequest,
    fabric: &FabricSpec,
    seed: u64,
    dir: &Path,
) -> Result<Request, ConfigError> {
    let request = request(raw, dir)?;
    let of_fabric = |problem| ConfigError::new("fabric", problem);
    // Rates of cables decide nothing here.
    let graph = Graph::of_topology(&fabric.topology, |_, _| 1.0);
    let graph = graph.map_err(|e| of_fabric(e.problem))?;
    let settings = request.settings(&graph, seed, None);
    let fits = settings.and_then(|settings| settings.check(&graph).map(|()| settings));
    let settings = fits.map_err(|problem| ConfigError::new("congestion", problem))?;
    let listed = (request.hosts.is_some()).then_some(settings.mapping.subset);
    Ok(Request {
        subset: listed.or(request.subset),
        hosts: None,
        ..request
    })
}

/// Says of paths other than minimal ones, and of events, that a static analysis does not count them.
pub(crate) fn uncounted(fabric: &FabricSpec, has_events: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(detours) = fabric.routing.paths.detours() {
        remarks.push(format!(
            "fabric.paths = \"{}\" is not counted: a static analysis follows minimal routes; measure its effect with a \
             simulation, or write \"minimal\"",
            detours.rule.name()
        ));
    }
    if has_events {
        remarks.push(
            "[[event]] is not counted: a static analysis has no time; name what has failed with --fail, or remove it"
                .to_owned(),
        );
    }
    remarks
}

fn named(name: &str, key: &str) -> Result<Pattern, ConfigError> {
    Pattern::parse(name).or_else(|problem| error(key, problem))
}

fn given(file: &str, dir: &Path) -> Result<Pattern, ConfigError> {
    let text = read(&dir.join(file)).or_else(|e| error("pairs", e.problem))?;
    match Given::parse(file, &text) {
        Ok(given) => Ok(Pattern::Given(Arc::new(given))),
        Err(e) => error("pairs", format!("{file}:{}: {}", e.line, e.problem)),
    }
}

fn hosts(raw: &RawRequest, dir: &Path) -> Result<Option<HostList>, ConfigError> {
    let mut given = given!(raw, nodes, hosts, subset);
    if let (Some(first), Some(second)) = (given.next(), given.next()) {
        return error(
            first,
            format!("says which hosts take part, and so does `{second}`; remove one of the two"),
        );
    }
    match (&raw.nodes, &raw.hosts) {
        (Some(list), _) => Ok(Some(HostList::of_entry("nodes", list))),
        (None, Some(file)) => {
            let text = read(&dir.join(file)).or_else(|e| error("hosts", e.problem))?;
            HostList::of_text(file, &text)
                .map(Some)
                .or_else(|problem| error("hosts", problem))
        }
        (None, None) => Ok(None),
    }
}

/// `[congestion]`.
pub(crate) fn analysis_json(request: &Request) -> Value {
    let Request {
        pattern,
        against,
        part,
        level,
        ranks,
        subset: _,
        // The loader has found them: `subset` lists them.
        hosts: _,
        in_order,
        path,
        fair,
        delay,
        worst,
        skip_lost,
        runs,
    } = request;
    // Pairs of a file by their content.
    let pairs = match pattern {
        oblivious::Pattern::Given(given) => Some(format!("{:032x}", given.digest())),
        _ => None,
    };
    json!({
        "pattern": pattern.to_string(),
        "pairs": pairs,
        "against": against.as_ref().map(ToString::to_string),
        "part": part,
        "level": level,
        "ranks": ranks,
        "subset": match request.subset() {
            Subset::Listed(hosts) => json!(hosts),
            named => json!(named),
        },
        "in_order": in_order,
        "path": path,
        "fair": fair,
        "delay": delay,
        "worst": worst,
        "skip_lost": skip_lost,
        "runs": runs,
    })
}
