//! Two texts, line by line.
//!
//! Promise: the lines that are marked as gone and new, with those that are not shown, make up the two
//! texts. Only one stretch is marked, which is what an insertion at one or several near places needs.

/// How many unchanged lines are shown on either side.
const AROUND: usize = 2;

/// A line of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'t> {
    /// It is in both.
    Same(&'t str),
    /// It is in the first alone.
    Gone(&'t str),
    /// It is in the second alone.
    New(&'t str),
}

/// The stretch in which two texts differ, with a few lines around it.
pub fn between<'t>(before: &'t str, after: &'t str) -> Vec<Line<'t>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let shortest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(shortest).take_while(|(old, new)| old == new).count();
    let middle = |lines: &[&'t str]| lines.get(head..lines.len() - tail).unwrap_or_default().to_vec();
    let mut difference: Vec<Line<'t>> =
        new.iter().take(head).skip(head.saturating_sub(AROUND)).map(|line| Line::Same(line)).collect();
    difference.extend(middle(&old).into_iter().map(Line::Gone));
    difference.extend(middle(&new).into_iter().map(Line::New));
    difference.extend(new.iter().skip(new.len() - tail).take(AROUND).map(|line| Line::Same(line)));
    difference
}
