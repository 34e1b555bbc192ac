use super::*;

/// Entries of all forms in the file.
const FILE: &str = r#"{
    "sample_spec": {"litellm_provider": "one of", "mode": "one of: chat", "input_cost_per_token": 0.0,
        "max_input_tokens": "max input tokens, if the provider specifies it"},
    "1024-x-1024/dall-e-2": {"litellm_provider": "openai", "mode": "image_generation", "input_cost_per_pixel": 1.9e-08},
    "m-chat": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 4e-07,
        "output_cost_per_token": 1.6e-06, "cache_read_input_token_cost": 1e-07, "max_input_tokens": 1047576,
        "max_output_tokens": 32768, "input_cost_per_token_priority": 8e-07, "input_cost_per_token_batches": 2e-07},
    "groq/m-fast": {"litellm_provider": "groq", "mode": "chat", "input_cost_per_token": "5e-8",
        "output_cost_per_token": 8e-08},
    "openrouter/maker/m": {"litellm_provider": "openrouter", "mode": "chat", "input_cost_per_token": 3e-06,
        "output_cost_per_token": 1.5e-05, "cache_creation_input_token_cost": 3.75e-06,
        "cache_creation_input_token_cost_above_1hr": 6e-06},
    "gemini/m-long": {"litellm_provider": "gemini", "mode": "chat", "input_cost_per_token": 1.25e-06,
        "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 1.25e-07,
        "input_cost_per_token_above_200k_tokens": 2.5e-06, "output_cost_per_token_above_200k_tokens": 1.5e-05,
        "output_cost_per_reasoning_token": 1e-05, "max_input_tokens": 1048576},
    "m-thinks": {"litellm_provider": "openai", "mode": "responses", "input_cost_per_token": 1e-06,
        "output_cost_per_token": 2e-06, "output_cost_per_reasoning_token": 3e-06, "max_input_tokens": 1000},
    "dashscope/m-steps": {"litellm_provider": "dashscope", "mode": "chat",
        "tiered_pricing": [{"range": [0, 256000], "input_cost_per_token": 5e-08}]},
    "m-by-time": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_second": 0.01},
    "ft:m:*": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06,
        "output_cost_per_token": 1e-06},
    "m-odd": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": -1,
        "output_cost_per_token": 1e-06},
    "m-nobody's": {"mode": "chat", "input_cost_per_token": 1e-06},
    "m-nothing": 5
}"#;

fn found() -> LiteLlmPrices {
    read(&serde_json::from_str(FILE).unwrap(), "prices.json", "2026-11-01")
}

#[test]
fn prices_are_imported_per_million_tokens() {
    let price = |model: &str, input: f64, output: f64| Price {
        model: model.to_owned(),
        input: Some(input),
        output: Some(output),
        cached: None,
        cache_written: None,
        up_to_input_tokens: None,
        context_window: None,
        source: Some("prices.json".to_owned()),
        date: Some("2026-11-01".to_owned()),
    };
    let long =
        Price { cached: Some(0.125), context_window: Some(1_048_576), ..price("gemini/m-long", 1.25, 10.0) };
    let expected = [
        Price { up_to_input_tokens: Some(200_000), ..long.clone() },
        Price { input: Some(2.5), output: Some(15.0), ..long },
        price("groq/m-fast", 0.05, 0.08),
        Price { cached: Some(0.1), context_window: Some(1_047_576), ..price("openai/m-chat", 0.4, 1.6) },
        // Its prices can't be represented, but its context size can.
        Price { input: None, output: None, context_window: Some(1000), ..price("openai/m-thinks", 0.0, 0.0) },
        Price { cache_written: Some(3.75), ..price("openrouter/maker/m", 3.0, 15.0) },
    ];
    assert_eq!(found().prices, expected);
}

#[test]
fn omitted_entries_are_reported() {
    let mut notes = found().notes;
    notes.sort();
    let expected = [
        "dashscope/m-steps: its tiered prices have an unsupported form",
        "ft:m:*: a pattern, which may have another meaning here",
        "m-by-time: it has no price per input token or per output token",
        "m-nobody's: has no provider",
        "m-nothing: not an object",
        "m-odd: its input_cost_per_token is not a price",
        "m-thinks: it has a separate price for thinking",
    ];
    assert_eq!(notes.len(), expected.len(), "{notes:?}");
    for (note, words) in notes.iter().zip(expected) {
        assert!(note.starts_with(words), "{note} (expected {words})");
    }
}

#[test]
fn several_tiers_are_imported_in_order() {
    let fields = serde_json::json!({
        "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6,
        "input_cost_per_token_above_200k_tokens": 3e-6,
        "input_cost_per_token_above_128k_tokens": 2e-6,
        "output_cost_per_token_above_128k_tokens": 4e-6
    });
    let steps = price_tiers(fields.as_object().unwrap()).unwrap();
    let of: Vec<_> = steps.iter().map(|step| (step.up_to_input_tokens, step.input, step.output)).collect();
    let expected = [
        (Some(128_000), Some(1.0), Some(2.0)),
        (Some(200_000), Some(2.0), Some(4.0)),
        (None, Some(3.0), Some(4.0)),
    ];
    assert_eq!(of, expected);
}
