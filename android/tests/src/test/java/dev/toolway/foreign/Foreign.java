package dev.toolway.foreign;

import android.content.ContentProvider;
import android.content.ContentValues;
import android.database.Cursor;
import android.net.Uri;
import android.os.Bundle;
import java.util.concurrent.CountDownLatch;

/** Methods that every provider must implement and that tools do not use. */
public abstract class Foreign extends ContentProvider {
    @Override
    public boolean onCreate() {
        return true;
    }

    @Override
    public Cursor query(Uri uri, String[] projection, String selection, String[] arguments, String order) {
        return null;
    }

    @Override
    public String getType(Uri uri) {
        return null;
    }

    @Override
    public Uri insert(Uri uri, ContentValues values) {
        return null;
    }

    @Override
    public int delete(Uri uri, String selection, String[] arguments) {
        return 0;
    }

    @Override
    public int update(Uri uri, ContentValues values, String selection, String[] arguments) {
        return 0;
    }

    /** Waits until the test continues it. */
    protected static void hold(CountDownLatch held) {
        try {
            held.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Creates a CETP answer. */
    protected static Bundle success(String data) {
        Bundle bundle = new Bundle();
        bundle.putString("status", "success");
        bundle.putString("data", data);
        return bundle;
    }

    /** Creates a CETP failure. */
    protected static Bundle error(String code, String message) {
        Bundle bundle = new Bundle();
        bundle.putString("status", "error");
        bundle.putString("error_code", code);
        bundle.putString("error_message", message);
        return bundle;
    }

    /** Creates the answer of an MCP dialect. */
    protected static Bundle result(String text) {
        Bundle bundle = new Bundle();
        bundle.putBoolean("success", true);
        bundle.putString("tool_result", text);
        return bundle;
    }

    /** Creates the failure of an MCP dialect. */
    protected static Bundle failure(String message) {
        Bundle bundle = new Bundle();
        bundle.putBoolean("success", false);
        bundle.putString("error_message", message);
        return bundle;
    }
}
