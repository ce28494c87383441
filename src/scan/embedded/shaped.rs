//! Rules that are written as a shape, given the regex and keywords that the shape makes.

use super::config::RuleParts;
use super::shape::{self, Shape, ShapeFault};

/// Why a rule's shape cannot be used.
#[derive(Debug)]
pub(crate) struct Unshaped {
    pub(crate) what: String,
    pub(crate) remedy: &'static str,
}

/// Makes regex and keywords of a rule that is written as a shape.
pub(crate) fn take_shape(parts: &mut RuleParts) -> Result<(), Unshaped> {
    let at = |what: String, remedy: &'static str| Unshaped { what, remedy };
    let own = &parts.own;
    let ways = [!own.shapes.is_empty(), own.value.is_some(), !parts.regex.is_empty()];
    if ways.iter().filter(|&&way| way).count() > 1 {
        return Err(at("more than one of `regex`, `shape` and `value` is given".to_owned(), "choose one of them"));
    }
    if own.value.is_some() && own.names.is_empty() {
        return Err(at("`value` without `names`".to_owned(), "name what is given such a value"));
    }
    if own.shapes.is_empty() && own.value.is_none() {
        return match own.names.is_empty() {
            true => Ok(()),
            false => Err(at("`names` without a `shape` or `value`".to_owned(), "say what the value looks like")),
        };
    }
    let unreadable = |error: ShapeFault| at(format!("a shape cannot be read: {error}"), "correct it");
    let shapes = own.shapes.iter().map(|text| Shape::parse(text)).collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    let (regex, keywords) = if let Some(value) = &own.value {
        (shape::named_value_pattern(&own.names, value).map_err(unreadable)?, shape::named_keywords(&own.names))
    } else if own.names.is_empty() {
        (shape::token_pattern(&shapes), shape::token_keywords(&shapes))
    } else {
        (shape::named_pattern(&own.names, &shapes).map_err(unreadable)?, shape::named_keywords(&own.names))
    };
    parts.regex = regex;
    if parts.keywords.is_empty() {
        parts.keywords = keywords.map_err(unreadable)?;
    } else if !own.names.is_empty() {
        parts.keywords = shape::joined_keywords(&parts.keywords);
    }
    Ok(())
}
