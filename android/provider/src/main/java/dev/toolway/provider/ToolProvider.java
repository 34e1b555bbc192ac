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
 * The content provider through which an app offers tools. Extend it, declare the tools, say who may use them, and
 * name the class in the manifest; the library's README shows the entries.
 */
public abstract class ToolProvider extends ContentProvider {
    private static final String TAG = "ToolProvider";
    /** Error messages are for reading, and must arrive. */
    private static final int MAX_MESSAGE = 4_000;

    /** Milliseconds that never go back; tests put their own in its place. */
    LongSupplier elapsed = SystemClock::elapsedRealtime;

    private List<String> authorities = new ArrayList<>();
    private Declaration declaration;
    private RateLimiter limiter;

    /**
     * Says what the app offers. It is asked once, before the first call is answered, on that call's thread; what
     * it throws is told to the caller and logged, and it is asked again with the next call.
     *
     * @param app to be filled in
     */
    protected abstract void declare(Declaration app);

    /**
     * Says whether a caller may do what it asks for. It is asked before every method of every protocol, on the
     * call's thread; what it throws counts as an error of the app, and the call does not go on.
     *
     * @param caller who asks
     * @param request what for
     * @return the answer
     */
    protected abstract Access authorize(Caller caller, Request request);

    /**
     * Remembers by which authorities it is reached.
     *
     * @param context of the app
     * @param info what the manifest says
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

    /** From API 29 on the system says which authority was called. */
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
        // What the tools do, they do as this app.
        long identity = Binder.clearCallingIdentity();
        boolean mcp = looksLikeMcp(method, extras);
        try {
            Exchange exchange = exchange(caller);
            String authority = called == null ? likely(exchange.declaration(), method, extras) : called;
            Declaration.McpDoor door = exchange.declaration().door(authority);
            mcp = door != null;
            return mcp ? Mcp.answer(exchange, door, method, extras) : Cetp.answer(exchange, method, extras);
        } catch (ToolException error) {
            return error(mcp, error);
        } catch (Throwable error) {
            // Also what is no Exception: an Error that leaves a provider ends the app's process.
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
     * Which authority was called, where an Android before API 29 does not say and this component has several: to
     * be told from the call, unless several tools are served in MCP.
     */
    private String likely(Declaration filled, String method, Bundle extras) throws ToolException {
        boolean mcp = looksLikeMcp(method, extras);
        List<String> fitting = new ArrayList<>();
        for (String authority : authorities) {
            if (mcp == (filled.door(authority) != null)) {
                fitting.add(authority);
            }
        }
        if (mcp && fitting.size() > 1) {
            throw ToolException.internal("this Android does not tell which of " + fitting + " is called; the app"
                    + " has to declare a provider for each");
        }
        return fitting.isEmpty() ? null : fitting.get(0);
    }

    /** What a call tells of its protocol, where nothing else does: so is an error answered that comes before. */
    private static boolean looksLikeMcp(String method, Bundle extras) {
        return Names.GET_TOOL_INFO.equals(method)
                || Names.EXECUTE_TOOL.equals(method) && Extras.has(extras, Names.TOOL_ARGUMENTS);
    }

    private static String withoutUser(String authority) {
        return authority == null ? null : authority.substring(authority.lastIndexOf('@') + 1);
    }

    /**
     * The type by which the tools of MCP are found.
     *
     * @param uri of an authority
     * @return the type, or null for an authority that speaks CETP
     */
    @Override
    public String getType(Uri uri) {
        String authority = withoutUser(uri.getAuthority());
        return authority != null && exchange(null).declaration().door(authority) != null ? Names.MCP_TYPE : null;
    }

    /**
     * There are no rows here.
     *
     * @return null
     */
    @Override
    public Cursor query(Uri uri, String[] projection, String selection, String[] arguments, String order) {
        return null;
    }

    /**
     * Nothing can be put in here.
     *
     * @return null
     */
    @Override
    public Uri insert(Uri uri, ContentValues values) {
        return null;
    }

    /**
     * There is nothing to delete here.
     *
     * @return 0
     */
    @Override
    public int delete(Uri uri, String selection, String[] arguments) {
        return 0;
    }

    /**
     * There is nothing to change here.
     *
     * @return 0
     */
    @Override
    public int update(Uri uri, ContentValues values, String selection, String[] arguments) {
        return 0;
    }
}
