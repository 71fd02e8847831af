//! Plots as SVG: points over two axes, linear or logarithmic, one colour and one mark per series.

use std::fmt::Write as _;

/// How an axis divides what it shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scale {
    /// Evenly.
    Linear,
    /// By powers of ten. Only values above 0 are shown.
    Log,
}

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// What it says.
    pub(crate) label: &'static str,
    /// How it divides.
    pub(crate) scale: Scale,
}

/// Points of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// In the legend.
    pub(crate) name: String,
    /// In the order in which a line joins them.
    pub(crate) points: Vec<(f64, f64)>,
}

/// A plot.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    /// Above it.
    pub(crate) title: &'static str,
    /// To the right.
    pub(crate) x: Axis,
    /// Upwards.
    pub(crate) y: Axis,
    /// Each has its colour.
    pub(crate) series: Vec<Series>,
    /// Whether points are joined.
    pub(crate) joined: bool,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 52.0;

/// Colours that people tell apart who do not see all of them (after Okabe and Ito), dark enough on white.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#6a3d9a", "#555555"];

impl Plot {
    /// As SVG, with what it shows as a text for those who do not see it. Nothing, if there is no point.
    pub(crate) fn svg(&self) -> Option<String> {
        let shown =
            |axis: &Axis, value: f64| value.is_finite() && (axis.scale == Scale::Linear || value > 0.0);
        let points = |series: &Series| -> Vec<(f64, f64)> {
            series.points.iter().copied().filter(|&(x, y)| shown(&self.x, x) && shown(&self.y, y)).collect()
        };
        let all: Vec<(f64, f64)> = self.series.iter().flat_map(points).collect();
        let x = Range::new(self.x.scale, all.iter().map(|point| point.0))?;
        let y = Range::new(self.y.scale, all.iter().map(|point| point.1))?;
        let at = |(a, b): (f64, f64)| {
            (LEFT + x.part(a) * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y.part(b) * (HEIGHT - TOP - BOTTOM))
        };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\"><title>{}</title>\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
             <text x=\"{LEFT}\" y=\"20\" font-size=\"14\" font-weight=\"600\">{}</text>\n",
            escape(self.title),
            escape(self.title)
        );
        // Writing to a string cannot fail.
        for tick in x.ticks() {
            let (at_x, bottom) = at((tick, y.least));
            let _ = writeln!(
                svg,
                "<path d=\"M{at_x:.1} {bottom:.1}V{TOP}\" stroke=\"#e4e4e4\"/><text x=\"{at_x:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                figure(tick)
            );
        }
        for tick in y.ticks() {
            let (left, at_y) = at((x.least, tick));
            let _ = writeln!(
                svg,
                "<path d=\"M{left:.1} {at_y:.1}H{:.1}\" stroke=\"#e4e4e4\"/><text x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                left - 6.0,
                at_y + 4.0,
                figure(tick)
            );
        }
        let (middle_x, middle_y) = ((LEFT + WIDTH - RIGHT) / 2.0, (TOP + HEIGHT - BOTTOM) / 2.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {TOP}V{:.1}H{:.1}\" fill=\"none\" stroke=\"#222\"/>\n\
             <text x=\"{middle_x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(16 {middle_y:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM,
            WIDTH - RIGHT,
            HEIGHT - 14.0,
            escape(self.x.label),
            escape(self.y.label)
        );
        // A series without points keeps its colour, so that plots of the same series look alike.
        let named = self.series.iter().enumerate().filter(|(_, series)| !points(series).is_empty());
        for (place, (index, series)) in named.enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let places: Vec<(f64, f64)> = points(series).into_iter().map(at).collect();
            if self.joined {
                let line: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                let _ = writeln!(
                    svg,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
                    line.join(" ")
                );
            }
            for place in places {
                svg.push_str(&mark(index, colour, place));
            }
            let row = TOP + 8.0 + 18.0 * place as f64;
            svg.push_str(&mark(index, colour, (WIDTH - RIGHT + 16.0, row)));
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                WIDTH - RIGHT + 28.0,
                row + 4.0,
                escape(&series.name)
            );
        }
        svg.push_str("</svg>\n");
        Some(svg)
    }
}

/// A point, in the shape of its series.
fn mark(index: usize, colour: &str, (x, y): (f64, f64)) -> String {
    let shape = match index % 4 {
        0 => return format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\" fill=\"{colour}\"/>\n"),
        1 => "m-3.4-3.4h6.8v6.8h-6.8z",
        2 => "m0-4.4 4.2 7.6h-8.4z",
        _ => "m0-4.6 4.6 4.6-4.6 4.6-4.6-4.6z",
    };
    format!("<path d=\"M{x:.1} {y:.1}{shape}\" fill=\"{colour}\"/>\n")
}

/// What an axis spans.
struct Range {
    scale: Scale,
    least: f64,
    most: f64,
}

impl Range {
    /// Rounded, so that all values are inside; none without a value.
    fn new(scale: Scale, values: impl Iterator<Item = f64> + Clone) -> Option<Range> {
        let least = values.clone().min_by(f64::total_cmp)?;
        let most = values.max_by(f64::total_cmp)?;
        let (least, most) = match scale {
            Scale::Log => {
                let (low, high) = (least.log10().floor(), most.log10().ceil());
                (10_f64.powf(low), 10_f64.powf(if high > low { high } else { low + 1.0 }))
            }
            Scale::Linear => (least.min(0.0), if most > 0.0 { most * 1.05 } else { 1.0 }),
        };
        Some(Range { scale, least, most })
    }

    /// From 0 to 1.
    fn part(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Log => (value / self.least).log10() / (self.most / self.least).log10(),
            Scale::Linear => (value - self.least) / (self.most - self.least),
        }
    }

    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Log => {
                let decades = (self.most / self.least).log10().round() as i32;
                let step = (decades / 8 + 1) as usize;
                (0..=decades).step_by(step).map(|power| self.least * 10_f64.powi(power)).collect()
            }
            Scale::Linear => {
                let raw = (self.most - self.least) / 6.0;
                let unit = 10_f64.powf(raw.log10().floor());
                let step =
                    [1.0, 2.0, 5.0, 10.0].map(|times| times * unit).into_iter().find(|step| *step >= raw);
                let step = step.unwrap_or(raw);
                (0..20)
                    .map(|i| self.least + f64::from(i) * step)
                    .take_while(|tick| *tick <= self.most)
                    .collect()
            }
        }
    }
}

/// A number beside an axis.
fn figure(value: f64) -> String {
    let magnitude = value.abs();
    match magnitude {
        _ if value == 0.0 => "0".to_owned(),
        1e4.. | ..1e-3 => {
            let power = magnitude.log10().floor() as i32;
            let digit = value / 10_f64.powi(power);
            if (digit - 1.0).abs() < 1e-6 {
                format!("10{}", raised(power))
            } else {
                format!("{digit:.1}·10{}", raised(power))
            }
        }
        _ => format!("{}", (value * 1e4).round() / 1e4),
    }
}

fn raised(power: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |letter: char| letter.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize]);
    power.to_string().chars().map(raise).collect()
}

/// Text that is no markup.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: Vec<(f64, f64)>, scale: Scale) -> Plot {
        let axis = |label| Axis { label, scale };
        let series = vec![Series { name: "<a>".to_owned(), points }];
        Plot { title: "time", x: axis("events"), y: axis("seconds"), series, joined: true }
    }

    #[test]
    fn points_are_inside_and_names_are_text() {
        for scale in [Scale::Linear, Scale::Log] {
            let svg = plot(vec![(1.0, 0.001), (10.0, 3.0), (1e6, 1e-5)], scale).svg().expect("a plot");
            assert!(svg.contains("&lt;a&gt;") && !svg.contains("<a>") && !svg.contains("NaN"), "{svg}");
            let circles = svg.lines().filter_map(|line| line.strip_prefix("<circle cx=\"")).take(3);
            for circle in circles {
                let x: f64 = circle.split('"').next().and_then(|x| x.parse().ok()).expect("a number");
                assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{circle}");
            }
        }
    }

    #[test]
    fn one_point_has_a_plot_and_none_has_not() {
        assert!(plot(vec![(5.0, 5.0)], Scale::Log).svg().is_some());
        assert!(plot(vec![(0.0, 0.0)], Scale::Linear).svg().is_some());
        assert_eq!(plot(vec![(0.0, 1.0)], Scale::Log).svg(), None);
        assert_eq!(plot(vec![], Scale::Linear).svg(), None);
    }

    #[test]
    fn figures_are_short() {
        assert_eq!([0.0, 0.01, 5.0, 100_000.0, 1e-6].map(figure), ["0", "0.01", "5", "10⁵", "10⁻⁶"]);
    }
}
