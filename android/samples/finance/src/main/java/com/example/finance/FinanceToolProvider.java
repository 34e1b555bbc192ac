package com.example.finance;

import dev.toolway.provider.Access;
import dev.toolway.provider.Caller;
import dev.toolway.provider.Declaration;
import dev.toolway.provider.Grants;
import dev.toolway.provider.RateLimit;
import dev.toolway.provider.Request;
import dev.toolway.provider.Schema;
import dev.toolway.provider.Tool;
import dev.toolway.provider.ToolCall;
import dev.toolway.provider.ToolException;
import dev.toolway.provider.ToolProvider;
import dev.toolway.provider.ToolResult;
import java.time.LocalDate;
import java.time.format.DateTimeParseException;
import org.json.JSONException;

/** The app's tools: holdings and transactions of the user. */
public final class FinanceToolProvider extends ToolProvider {
    static final String AUTHORIZE = "com.example.finance.ACTION_AUTHORIZE_CLAWSEED";

    private Portfolio portfolio;
    private Grants grants;

    @Override
    public boolean onCreate() {
        portfolio = new Portfolio(getContext());
        grants = new Grants(getContext());
        return true;
    }

    @Override
    public void shutdown() {
        portfolio.close();
    }

    /** Denied callers can't list tools. Only allowed callers get data. */
    @Override
    protected Access authorize(Caller caller, Request request) {
        return request.runsTool()
                ? grants.check(caller, "User has not authorized this data scope",
                        "Please open the app to complete authorization", AUTHORIZE)
                : grants.refuseDenied(caller);
    }

    @Override
    protected void declare(Declaration app) {
        app.info("MyFinance", "Personal finance data")
                .scope("holdings", "Portfolio holdings")
                .scope("transactions", "Transaction history")
                .limit(RateLimit.of(600, 60_000))
                .tool(new Tool(
                        "get_portfolio_holdings",
                        "Get current portfolio holdings with symbol, quantity, cost basis, and current price",
                        Schema.obj()
                                .property("account_type", Schema.string()
                                        .values("stock", "fund", "all")
                                        .description("Filter by account type")),
                        call -> ToolResult.json(portfolio.holdings(call.string("account_type")))))
                .tool(new Tool(
                        "get_transactions",
                        "Get transaction history",
                        Schema.obj()
                                .required("start_date", Schema.string()
                                        .description("Start date in ISO 8601 format (YYYY-MM-DD)"))
                                .property("end_date", Schema.string()
                                        .description("End date in ISO 8601 format (YYYY-MM-DD)"))
                                .property("limit", Schema.integer()
                                        .byDefault(50)
                                        .description("Maximum number of results")),
                        this::transactions));
    }

    private ToolResult transactions(ToolCall call) throws ToolException, JSONException {
        LocalDate start = date(call, "start_date");
        LocalDate end = date(call, "end_date");
        long limit = call.arguments().getLong("limit");
        if (end != null && end.isBefore(start)) {
            throw ToolException.invalidArgs("/end_date: lies before /start_date");
        }
        if (limit < 1) {
            throw ToolException.invalidArgs("/limit: must be at least 1, is " + limit);
        }
        return ToolResult.json(portfolio.transactions(start, end, limit));
    }

    private static LocalDate date(ToolCall call, String name) throws ToolException {
        String text = call.string(name);
        try {
            return text == null ? null : LocalDate.parse(text);
        } catch (DateTimeParseException error) {
            throw ToolException.invalidArgs("/" + name + ": must be a date as YYYY-MM-DD");
        }
    }
}
