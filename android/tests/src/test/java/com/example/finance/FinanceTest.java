package com.example.finance;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import android.app.Activity;
import android.content.Context;
import android.database.sqlite.SQLiteDatabase;
import android.os.Bundle;
import android.view.View;
import android.view.ViewGroup;
import android.widget.Button;
import android.widget.TextView;
import dev.toolway.provider.CallingApp;
import java.util.ArrayList;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONObject;
import org.junit.After;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.Robolectric;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.Shadows;
import org.robolectric.android.controller.ActivityController;

/** Tests the finance app with calls like a bridge's, with its database and its screen. */
@RunWith(RobolectricTestRunner.class)
public class FinanceTest {
    private static final String AUTHORITY = "com.example.finance.clawseed.tools";
    private static final String BRIDGE = "com.example.bridge";

    private final FinanceToolProvider provider =
            Robolectric.buildContentProvider(FinanceToolProvider.class).create(AUTHORITY).get();
    private final CallingApp bridge = CallingApp.install(BRIDGE);

    @After
    public void closeDatabase() {
        provider.shutdown();
    }

    private Bundle call(String method, Bundle extras) {
        return bridge.call(provider, AUTHORITY, method, extras);
    }

    private Bundle execute(String tool, String args) {
        Bundle extras = new Bundle();
        extras.putString("tool_name", tool);
        extras.putString("args", args);
        return call("execute_tool", extras);
    }

    private JSONObject data(String tool, String args) throws Exception {
        Bundle answer = execute(tool, args);
        assertEquals(answer.getString("error_message"), "success", answer.getString("status"));
        return new JSONObject(answer.getString("data"));
    }

    /** Returns the message for refused arguments. */
    private String refusal(String args) {
        Bundle answer = execute("get_transactions", args);
        assertEquals("INVALID_ARGS", answer.getString("error_code"));
        return answer.getString("error_message");
    }

    private static ActivityController<AuthorizeActivity> openScreen() {
        return Robolectric.buildActivity(AuthorizeActivity.class).setup();
    }

    private static void press(Activity screen, String label) {
        Button button = null;
        for (View view : views(screen.findViewById(android.R.id.content))) {
            if (view instanceof Button && ((Button) view).getText().toString().equals(label)) {
                button = (Button) view;
            }
        }
        assertNotNull(words(screen), button);
        assertTrue(button.getFilterTouchesWhenObscured());
        button.performClick();
    }

    private static String words(Activity screen) {
        StringBuilder words = new StringBuilder();
        for (View view : views(screen.findViewById(android.R.id.content))) {
            words.append(view instanceof TextView ? ((TextView) view).getText() + "|" : "");
        }
        return words.toString();
    }

    private static List<View> views(View view) {
        List<View> views = new ArrayList<>(List.of(view));
        for (int i = 0; view instanceof ViewGroup && i < ((ViewGroup) view).getChildCount(); i++) {
            views.addAll(views(((ViewGroup) view).getChildAt(i)));
        }
        return views;
    }

    private void allow() {
        execute("get_portfolio_holdings", "{}");
        press(openScreen().get(), "Allow");
    }

    private static List<String> each(JSONArray objects, String key) throws Exception {
        List<String> values = new ArrayList<>();
        for (int i = 0; i < objects.length(); i++) {
            values.add(objects.getJSONObject(i).getString(key));
        }
        return values;
    }

    /** Sorts the names, because the order of an object's names has no meaning. */
    private static Object sorted(Object value) throws Exception {
        if (value instanceof JSONArray) {
            JSONArray array = new JSONArray();
            for (int i = 0; i < ((JSONArray) value).length(); i++) {
                array.put(sorted(((JSONArray) value).get(i)));
            }
            return array;
        } else if (value instanceof JSONObject) {
            JSONObject object = new JSONObject();
            List<String> names = new ArrayList<>();
            ((JSONObject) value).keys().forEachRemaining(names::add);
            java.util.Collections.sort(names);
            for (String name : names) {
                object.put(name, sorted(((JSONObject) value).get(name)));
            }
            return object;
        }
        return value;
    }

    /** The tool list of ClawSeed's CETP tutorial, key by key. */
    @Test
    public void toolsMatchTutorial() throws Exception {
        JSONObject data = new JSONObject(call("list_tools", null).getString("data"));
        assertEquals(
                sorted(new JSONObject("{\"tools\":["
                                + "{\"name\":\"get_portfolio_holdings\",\"description\":\"Get current portfolio holdings with symbol, quantity, cost basis, and current price\","
                                + "\"parameters\":{\"type\":\"object\",\"properties\":{\"account_type\":{\"type\":\"string\",\"enum\":[\"stock\",\"fund\",\"all\"],"
                                + "\"description\":\"Filter by account type\"}},\"required\":[]}},"
                                + "{\"name\":\"get_transactions\",\"description\":\"Get transaction history\","
                                + "\"parameters\":{\"type\":\"object\",\"properties\":{"
                                + "\"start_date\":{\"type\":\"string\",\"description\":\"Start date in ISO 8601 format (YYYY-MM-DD)\"},"
                                + "\"end_date\":{\"type\":\"string\",\"description\":\"End date in ISO 8601 format (YYYY-MM-DD)\"},"
                                + "\"limit\":{\"type\":\"integer\",\"default\":50,\"description\":\"Maximum number of results\"}},"
                                + "\"required\":[\"start_date\"]}}]}"))
                        .toString(),
                sorted(data).toString());
        assertEquals(
                "{\"provider_name\":\"MyFinance\",\"description\":\"Personal finance data\",\"scopes\":["
                        + "{\"name\":\"holdings\",\"description\":\"Portfolio holdings\"},"
                        + "{\"name\":\"transactions\",\"description\":\"Transaction history\"}]}",
                call("get_provider_info", null).getString("data"));
    }

    /** ClawSeed's CETP tutorial, section 4: refused, allowed, revoked and refused again. */
    @Test
    public void dataRequiresUsersPermission() throws Exception {
        Bundle refused = execute("get_portfolio_holdings", "{}");
        assertEquals("AUTH_REQUIRED", refused.getString("error_code"));
        assertEquals("User has not authorized this data scope", refused.getString("error_message"));
        assertEquals("Please open the app to complete authorization", refused.getString("resolution_hint"));
        assertEquals("com.example.finance.ACTION_AUTHORIZE_CLAWSEED", refused.getString("authorize_intent"));
        ActivityController<AuthorizeActivity> screen = openScreen();
        assertTrue(words(screen.get()), words(screen.get()).contains(BRIDGE + ") has asked|Allow|Deny|"));
        press(screen.get(), "Allow");
        assertEquals(Activity.RESULT_OK, Shadows.shadowOf(screen.get()).getResultCode());
        assertTrue(words(screen.get()), words(screen.get()).contains("may read until"));
        assertEquals(5, data("get_portfolio_holdings", "{}").getJSONArray("holdings").length());
        // Another app still has no access.
        CallingApp other = CallingApp.install("com.example.other");
        Bundle extras = new Bundle();
        extras.putString("tool_name", "get_portfolio_holdings");
        assertEquals(
                "AUTH_REQUIRED",
                other.call(provider, AUTHORITY, "execute_tool", extras).getString("error_code"));
        press(screen.get(), "Revoke");
        assertEquals("AUTH_REQUIRED", execute("get_portfolio_holdings", "{}").getString("error_code"));
    }

    @Test
    public void deniedCallerCannotListTools() {
        execute("get_portfolio_holdings", "{}");
        assertEquals("success", call("list_tools", null).getString("status"));
        ActivityController<AuthorizeActivity> screen = openScreen();
        press(screen.get(), "Deny");
        assertTrue(words(screen.get()), words(screen.get()).contains("may not read|Allow|Revoke|"));
        for (String method : new String[] {"list_tools", "get_provider_info", "execute_tool"}) {
            assertEquals("PERMISSION_DENIED", call(method, null).getString("error_code"));
        }
        press(screen.get(), "Allow");
        assertEquals("success", execute("get_portfolio_holdings", "{}").getString("status"));
    }

    @Test
    public void screenShowsThatNoAppHasAsked() {
        assertTrue(words(openScreen().get()).contains("No app has asked yet."));
    }

    @Test
    public void appWithoutKnownSignerCannotBeAllowed() {
        execute("get_portfolio_holdings", "{}");
        Activity screen = openScreen().get();
        press(screen, "Deny");
        CallingApp.hideSigner(BRIDGE);
        press(screen, "Revoke");
        assertEquals("PERMISSION_DENIED", execute("get_portfolio_holdings", "{}").getString("error_code"));
        assertFalse(words(openScreen().get()).contains(BRIDGE));
    }

    @Test
    public void holdingsMatchTheirDescription() throws Exception {
        allow();
        JSONObject answer = data("get_portfolio_holdings", "{\"account_type\":\"all\"}");
        assertTrue(answer.getBoolean("sample_data"));
        JSONArray holdings = answer.getJSONArray("holdings");
        assertEquals(List.of("ALPH", "BRIO", "CEDR", "GLOBE", "TERRA"), each(holdings, "symbol"));
        JSONObject first = holdings.getJSONObject(0);
        assertEquals("stock", first.getString("account_type"));
        assertEquals(40, first.getDouble("quantity"), 0);
        assertEquals(82.5, first.getDouble("cost_basis"), 0);
        assertEquals(119.4, first.getDouble("current_price"), 0);
        assertEquals(18.25, holdings.getJSONObject(4).getDouble("quantity"), 0);
    }

    @Test
    public void holdingsAreFilteredByAccount() throws Exception {
        allow();
        assertEquals(
                List.of("GLOBE", "TERRA"),
                each(data("get_portfolio_holdings", "{\"account_type\":\"fund\"}").getJSONArray("holdings"), "symbol"));
        assertEquals(
                List.of("ALPH", "BRIO", "CEDR"),
                each(data("get_portfolio_holdings", "{\"account_type\":\"stock\"}").getJSONArray("holdings"), "symbol"));
        Bundle refused = execute("get_portfolio_holdings", "{\"account_type\":\"bond\"}");
        assertEquals("INVALID_ARGS", refused.getString("error_code"));
        assertEquals(
                "invalid arguments: /account_type: must be one of [\"stock\",\"fund\",\"all\"]",
                refused.getString("error_message"));
    }

    @Test
    public void transactionsAreFilteredByDate() throws Exception {
        allow();
        JSONObject all = data("get_transactions", "{\"start_date\":\"2025-06-01\"}");
        assertEquals(11, all.getLong("total"));
        JSONObject some = data("get_transactions", "{\"start_date\":\"2025-06-01\",\"end_date\":\"2025-07-09\"}");
        JSONArray transactions = some.getJSONArray("transactions");
        assertEquals(List.of("2025-07-09", "2025-07-01", "2025-06-18", "2025-06-01"), each(transactions, "date"));
        assertEquals(List.of("TERRA", "GLOBE", "ALPH", "GLOBE"), each(transactions, "symbol"));
        JSONObject june = transactions.getJSONObject(3);
        assertEquals("buy", june.getString("type"));
        assertEquals(5, june.getDouble("quantity"), 0);
        assertEquals(94.45, june.getDouble("price"), 0);
        assertTrue(some.getBoolean("sample_data"));
        assertEquals(
                0, data("get_transactions", "{\"start_date\":\"2026-01-01\"}").getJSONArray("transactions").length());
    }

    @Test
    public void limitDefaultsToFifty() throws Exception {
        allow();
        data("get_transactions", "{\"start_date\":\"2025-01-01\"}");
        Context context = RuntimeEnvironment.getApplication();
        try (SQLiteDatabase database = context.openOrCreateDatabase("portfolio.db", Context.MODE_PRIVATE, null)) {
            for (int i = 0; i < 60; i++) {
                database.execSQL("INSERT INTO transactions (date, type, symbol, quantity, price)"
                        + " VALUES ('2024-03-01', 'buy', 'ALPH', 1000, 5000)");
            }
        }
        JSONObject answer = data("get_transactions", "{\"start_date\":\"2024-01-01\",\"end_date\":\"2024-12-31\"}");
        assertEquals(60, answer.getLong("total"));
        assertEquals(50, answer.getJSONArray("transactions").length());
        answer = data("get_transactions", "{\"start_date\":\"2024-01-01\",\"limit\":2.0}");
        assertEquals(2, answer.getJSONArray("transactions").length());
        answer = data("get_transactions", "{\"start_date\":\"2024-01-01\",\"limit\":1000}");
        assertEquals(80, answer.getJSONArray("transactions").length());
    }

    @Test
    public void datesAndLimitsAreChecked() {
        allow();
        assertEquals("invalid arguments: /start_date: is missing", refusal("{}"));
        assertEquals(
                "invalid arguments: /start_date: must be string, is number; /limit: must be integer, is string",
                refusal("{\"start_date\":20250101,\"limit\":\"5\"}"));
        assertEquals("/start_date: must be a date as YYYY-MM-DD", refusal("{\"start_date\":\"2025-02-30\"}"));
        assertEquals("/start_date: must be a date as YYYY-MM-DD", refusal("{\"start_date\":\"last week\"}"));
        assertEquals(
                "/end_date: must be a date as YYYY-MM-DD",
                refusal("{\"start_date\":\"2025-01-01\",\"end_date\":\"2025-1-2\"}"));
        assertEquals(
                "/end_date: lies before /start_date",
                refusal("{\"start_date\":\"2025-01-02\",\"end_date\":\"2025-01-01\"}"));
        assertEquals("/limit: must be at least 1, is 0", refusal("{\"start_date\":\"2025-01-01\",\"limit\":0}"));
    }

    /** Data and decisions survive a restart of the app. */
    @Test
    public void databaseIsFilledOnlyOnce() throws Exception {
        allow();
        assertEquals(20, data("get_transactions", "{\"start_date\":\"2025-01-01\"}").getLong("total"));
        FinanceToolProvider again =
                Robolectric.buildContentProvider(FinanceToolProvider.class).create(AUTHORITY).get();
        Bundle extras = new Bundle();
        extras.putString("tool_name", "get_transactions");
        extras.putString("args", "{\"start_date\":\"2025-01-01\"}");
        Bundle answer = bridge.call(again, AUTHORITY, "execute_tool", extras);
        assertEquals(20, new JSONObject(answer.getString("data")).getLong("total"));
        again.shutdown();
    }
}
