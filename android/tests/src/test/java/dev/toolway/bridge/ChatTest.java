package dev.toolway.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import dev.toolway.phone.Manifests;
import dev.toolway.provider.Grants;
import org.json.JSONObject;
import org.junit.After;
import org.junit.Test;

/** The finance app in a conversation with a model. */
public class ChatTest extends BridgeTest {
    private static final String HOLDINGS = "phone__finance__get_portfolio_holdings";

    private final FakeModels fake = new FakeModels();

    /** Disables session titles, which would cause additional requests. */
    @Override
    protected String settings() {
        return "[chat]\ntitles = false\n";
    }

    @Override
    protected String models() {
        return fake.toml();
    }

    @After
    public void stopModels() {
        fake.close();
    }

    @Test
    public void a_model_calls_the_tool_and_reads_its_data() throws Exception {
        phone.install(Manifests.apk(Programs.source("android/samples/finance/src/main")), "key of finance");
        assertTrue(new Grants(phone.app()).allow(phone.app().getPackageName(), Grants.NO_END));
        shell();
        awaitTools("finance__get_portfolio_holdings", "finance__get_transactions");
        fake.callsThenSays(HOLDINGS, Json.of("account_type", "stock"), "You hold shares.");

        JSONObject answer = gateway.owner().post("/api/chat", Json.of("content", "What do I hold?", "stream", false));

        assertEquals(answer.toString(), "You hold shares.", answer.optString("full_response"));
        assertEquals("asked twice", 2, fake.requests().length());
        String first = fake.requests().getJSONObject(0).toString();
        assertTrue("the model was told of the tool", first.contains(HOLDINGS));
        String second = fake.requests().getJSONObject(1).toString();
        assertTrue("the model read the data: " + second, second.contains("current_price"));
        JSONObject call = Json.rows(gateway.owner().get("/api/calls?tool=" + HOLDINGS), "calls").get(0);
        assertEquals(call.toString(), "success", call.optString("status"));
    }
}
