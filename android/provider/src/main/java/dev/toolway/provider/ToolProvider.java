package dev.toolway.provider;

import android.content.ContentProvider;
import android.content.ContentValues;
import android.content.Context;
import android.content.pm.ProviderInfo;
import android.database.Cursor;
import android.net.Uri;
import android.os.Binder;
import android.os.Bundle;
import android.os.SystemClock;
import android.util.Log;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * Content provider that offers an app's tools. Extend it, declare the tools, decide who may use them, and add the class
 * to the manifest; the library's README shows the entries.
 */
public abstract class ToolProvider extends ContentProvider {
    private static final String TAG = "ToolProvider";
    /** Maximum length of an error message in characters. */
    private static final int MAX_MESSAGE = 4_000;

    /** Monotonic clock in milliseconds; tests replace it. */
    LongSupplier elapsed = SystemClock::elapsedRealtime;

    private List<String> authorities = new ArrayList<>();
    private Declaration declaration;
    private RateLimiter limiter;

    /**
     * Declares the app's tools. Called once, before the first call is answered, on that call's thread. An exception
     * is logged and reported to the caller, and the next call tries again.
     *
     * @param app the declaration to complete
     */
    protected abstract void declare(Declaration app);

    /**
     * Decides whether a caller may make a request. Called before every method of every protocol, on the call's
     * thread. An exception ends the call with an error of the app.
     *
     * @param caller the caller
     * @param request the request
     * @return the decision
     */
    protected abstract Access authorize(Caller caller, Request request);

    /**
     * Stores the authorities of this provider.
     *
     * @param context context of the app
     * @param info the entry in the manifest
     */
    @Override
    public void attachInfo(Context context, ProviderInfo info) {
        if (info != null && info.authority != null) {
            authorities = Arrays.asList(info.authority.split(";"));
        }
        super.attachInfo(context, info);
    }

    @Override
    public boolean onCreate() {
        return true;
    }

    /** From API 29, the system passes the authority that was called. */
    @Override
    public final Bundle call(String authority, String method, String arg, Bundle extras) {
        return answer(withoutUser(authority), method, extras);
    }

    @Override
    public final Bundle call(String method, String arg, Bundle extras) {
        return answer(authorities.size() == 1 ? authorities.get(0) : null, method, extras);
    }

    private Bundle answer(String called, String method, Bundle extras) {
        Caller caller = Caller.of(this);
        // Tools run with this app's identity.
        long identity = Binder.clearCallingIdentity();
        boolean mcp = looksLikeMcp(method, extras);
        try {
            Exchange exchange = exchange(caller);
            String authority = called == null ? likely(exchange.declaration(), method, extras) : called;
            Declaration.McpEndpoint endpoint = exchange.declaration().endpoint(authority);
            mcp = endpoint != null;
            return mcp ? Mcp.answer(exchange, endpoint, method, extras) : Cetp.answer(exchange, method, extras);
        } catch (ToolException error) {
            return error(mcp, error);
        } catch (Throwable error) {
            // Also catches Errors: one that leaves a provider ends the app's process.
            Log.w(TAG, method + " for " + caller + " failed", error);
            String message = error.getMessage();
            return error(mcp, ToolException.internal(message == null ? error.getClass().getSimpleName() : message));
        } finally {
            Binder.restoreCallingIdentity(identity);
        }
    }

    private static Bundle error(boolean mcp, ToolException error) {
        Bundle bundle = mcp ? Mcp.error(error) : Cetp.error(error);
        String message = bundle.getString(Names.ERROR_MESSAGE);
        bundle.putString(Names.ERROR_MESSAGE, JsonValues.cut(message, MAX_MESSAGE));
        return bundle;
    }

    private synchronized Exchange exchange(Caller caller) {
        if (declaration == null) {
            Declaration filled = new Declaration();
            declare(filled);
            RateLimit limit = filled.checked().limit();
            limiter = limit == null ? null : new RateLimiter(limit, elapsed);
            declaration = filled;
        }
        return new Exchange(this, declaration, limiter, caller);
    }

    /**
     * Returns the called authority. Before API 29, the system does not pass it. With several authorities, it is
     * derived from the call, unless several serve tools in MCP.
     */
    private String likely(Declaration filled, String method, Bundle extras) throws ToolException {
        boolean mcp = looksLikeMcp(method, extras);
        List<String> fitting = new ArrayList<>();
        for (String authority : authorities) {
            if (mcp == (filled.endpoint(authority) != null)) {
                fitting.add(authority);
            }
        }
        if (mcp && fitting.size() > 1) {
            throw ToolException.internal("this Android version does not tell which of " + fitting + " was called; the"
                    + " app must declare one provider for each");
        }
        return fitting.isEmpty() ? null : fitting.get(0);
    }

    /** Returns the protocol that a call implies, for errors before the authority is known. */
    private static boolean looksLikeMcp(String method, Bundle extras) {
        return Names.GET_TOOL_INFO.equals(method)
                || Names.EXECUTE_TOOL.equals(method) && Extras.has(extras, Names.TOOL_ARGUMENTS);
    }

    private static String withoutUser(String authority) {
        return authority == null ? null : authority.substring(authority.lastIndexOf('@') + 1);
    }

    /**
     * Returns the MIME type of MCP tools.
     *
     * @param uri URI of an authority
     * @return the type, or null for an authority of CETP
     */
    @Override
    public String getType(Uri uri) {
        String authority = withoutUser(uri.getAuthority());
        return authority != null && exchange(null).declaration().endpoint(authority) != null ? Names.MCP_TYPE : null;
    }

    /**
     * Does nothing: this provider has no rows.
     *
     * @return null
     */
    @Override
    public Cursor query(Uri uri, String[] projection, String selection, String[] arguments, String order) {
        return null;
    }

    /**
     * Does nothing: this provider has no rows.
     *
     * @return null
     */
    @Override
    public Uri insert(Uri uri, ContentValues values) {
        return null;
    }

    /**
     * Does nothing: this provider has no rows.
     *
     * @return 0
     */
    @Override
    public int delete(Uri uri, String selection, String[] arguments) {
        return 0;
    }

    /**
     * Does nothing: this provider has no rows.
     *
     * @return 0
     */
    @Override
    public int update(Uri uri, ContentValues values, String selection, String[] arguments) {
        return 0;
    }
}
