package com.example.finance;

import android.content.Context;
import android.database.Cursor;
import android.database.DatabaseUtils;
import android.database.sqlite.SQLiteDatabase;
import android.database.sqlite.SQLiteOpenHelper;
import java.math.BigDecimal;
import java.time.LocalDate;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * The user's portfolio in a database of the app. Money is stored in cents and quantities in thousandths, so that
 * there are no rounding errors. The first start fills it with sample data, and every answer says so.
 */
final class Portfolio extends SQLiteOpenHelper {
    private static final String FILE = "portfolio.db";
    private static final int VERSION = 1;
    /** Latest date with a four-digit year. */
    private static final String END_OF_TIME = "9999-12-31";

    Portfolio(Context context) {
        super(context, FILE, null, VERSION);
    }

    @Override
    public void onCreate(SQLiteDatabase database) {
        database.execSQL("CREATE TABLE holdings (symbol TEXT PRIMARY KEY, account_type TEXT NOT NULL,"
                + " quantity INTEGER NOT NULL, cost_basis INTEGER NOT NULL, current_price INTEGER NOT NULL)");
        database.execSQL("CREATE TABLE transactions (id INTEGER PRIMARY KEY, date TEXT NOT NULL,"
                + " type TEXT NOT NULL, symbol TEXT NOT NULL, quantity INTEGER NOT NULL, price INTEGER NOT NULL)");
        database.execSQL("CREATE INDEX transactions_by_date ON transactions (date)");
        SampleData.fill(database);
    }

    @Override
    public void onUpgrade(SQLiteDatabase database, int from, int to) {
        throw new IllegalStateException("there is no version before " + VERSION);
    }

    /** Returns the holdings in accounts of this type; `all` and null mean every type. */
    JSONObject holdings(String accountType) throws JSONException {
        boolean every = accountType == null || accountType.equals("all");
        JSONArray holdings = new JSONArray();
        try (Cursor rows = getReadableDatabase().rawQuery(
                "SELECT symbol, account_type, quantity, cost_basis, current_price FROM holdings"
                        + (every ? "" : " WHERE account_type = ?") + " ORDER BY symbol",
                every ? new String[0] : new String[] {accountType})) {
            while (rows.moveToNext()) {
                holdings.put(new JSONObject()
                        .put("symbol", rows.getString(0))
                        .put("account_type", rows.getString(1))
                        .put("quantity", BigDecimal.valueOf(rows.getLong(2), 3))
                        .put("cost_basis", BigDecimal.valueOf(rows.getLong(3), 2))
                        .put("current_price", BigDecimal.valueOf(rows.getLong(4), 2)));
            }
        }
        return answer().put("holdings", holdings);
    }

    /** Returns the transactions from one day to another, both included, the latest first. */
    JSONObject transactions(LocalDate start, LocalDate end, long limit) throws JSONException {
        String[] days = {start.toString(), end == null ? END_OF_TIME : end.toString()};
        SQLiteDatabase database = getReadableDatabase();
        String from = " FROM transactions WHERE date BETWEEN ? AND ?";
        long total = DatabaseUtils.longForQuery(database, "SELECT COUNT(*)" + from, days);
        JSONArray transactions = new JSONArray();
        try (Cursor rows = database.rawQuery(
                "SELECT id, date, type, symbol, quantity, price" + from + " ORDER BY date DESC, id DESC LIMIT " + limit,
                days)) {
            while (rows.moveToNext()) {
                transactions.put(new JSONObject()
                        .put("id", rows.getLong(0))
                        .put("date", rows.getString(1))
                        .put("type", rows.getString(2))
                        .put("symbol", rows.getString(3))
                        .put("quantity", BigDecimal.valueOf(rows.getLong(4), 3))
                        .put("price", BigDecimal.valueOf(rows.getLong(5), 2)));
            }
        }
        return answer().put("total", total).put("transactions", transactions);
    }

    private static JSONObject answer() throws JSONException {
        return new JSONObject().put("sample_data", true).put("currency", "EUR");
    }
}
