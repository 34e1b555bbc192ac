package com.example.finance;

import android.database.sqlite.SQLiteDatabase;
import java.time.LocalDate;
import java.time.Month;

/** Sample data of the first start, with symbols that do not exist at any exchange. */
final class SampleData {
    /** Symbol, type of account, quantity in thousandths, cost and price per unit in cents. */
    private static final Object[][] HOLDINGS = {
        {"ALPH", "stock", 40_000, 8_250, 11_940},
        {"BRIO", "stock", 15_000, 23_100, 20_475},
        {"CEDR", "stock", 120_000, 1_735, 2_210},
        {"GLOBE", "fund", 60_000, 9_480, 10_362},
        {"TERRA", "fund", 18_250, 14_000, 15_125},
    };

    /** Price of the fund in January, and its monthly increase, in cents. */
    private static final int FUND_PRICE = 9_095;
    private static final int FUND_RISE = 70;

    /** Date, kind, symbol, quantity in thousandths, price per unit in cents. */
    private static final Object[][] TRADES = {
        {"2025-01-15", "buy", "ALPH", 25_000, 7_900},
        {"2025-02-20", "buy", "CEDR", 150_000, 1_735},
        {"2025-03-11", "buy", "BRIO", 15_000, 23_100},
        {"2025-05-02", "dividend", "ALPH", 25_000, 45},
        {"2025-06-18", "buy", "ALPH", 15_000, 8_833},
        {"2025-07-09", "buy", "TERRA", 18_250, 14_000},
        {"2025-09-24", "sell", "CEDR", 30_000, 2_105},
        {"2025-11-03", "dividend", "ALPH", 40_000, 48},
    };

    private SampleData() {}

    static void fill(SQLiteDatabase database) {
        for (Object[] holding : HOLDINGS) {
            database.execSQL("INSERT INTO holdings VALUES (?, ?, ?, ?, ?)", holding);
        }
        // A savings plan: the same quantity of one fund on the first of each month.
        for (Month month : Month.values()) {
            LocalDate day = LocalDate.of(2025, month, 1);
            add(database, day.toString(), "buy", "GLOBE", 5_000, FUND_PRICE + month.ordinal() * FUND_RISE);
        }
        for (Object[] trade : TRADES) {
            add(database, trade);
        }
    }

    private static void add(SQLiteDatabase database, Object... trade) {
        database.execSQL(
                "INSERT INTO transactions (date, type, symbol, quantity, price) VALUES (?, ?, ?, ?, ?)", trade);
    }
}
