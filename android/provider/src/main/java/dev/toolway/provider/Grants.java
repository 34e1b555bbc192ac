package dev.toolway.provider;

import android.content.Context;
import android.content.SharedPreferences;
import android.content.pm.PackageManager;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Stores which apps the user has allowed or denied, and which have asked. A permission is for a package and its signing
 * certificate: another app with the same package must ask again. Stored in this app's preferences, for one process.
 * Objects of the same app see each other's changes immediately.
 */
public final class Grants {
    /** End of a permission that never expires. */
    public static final long NO_END = Long.MAX_VALUE;

    /** Maximum number of apps without a decision; the oldest is removed for a new one. */
    static final int MAX_ASKED = 50;

    private static final String FILE = "dev.toolway.provider.grants";
    /** Makes reading, deciding and writing atomic across all objects. */
    private static final Object LOCK = new Object();

    private final SharedPreferences kept;
    private final PackageManager manager;
    private final LongSupplier clock;

    /**
     * Opens the app's grants.
     *
     * @param context any context of the app
     */
    public Grants(Context context) {
        this(context, System::currentTimeMillis);
    }

    Grants(Context context, LongSupplier clock) {
        kept = context.getSharedPreferences(FILE, Context.MODE_PRIVATE);
        manager = context.getPackageManager();
        this.clock = clock;
    }

    /**
     * Decides by the user's decisions. A caller without a decision is stored as an app that has asked.
     *
     * @param caller the caller
     * @param message the missing authorization
     * @param hint the next step for the user, or null
     * @param authorizeAction the action of the activity for authorization, or null for the app's start screen
     * @return the decision
     */
    public Access check(Caller caller, String message, String hint, String authorizeAction) {
        synchronized (LOCK) {
            Access refusal = refuseDenied(caller);
            if (!refusal.isAllowed()) {
                return refusal;
            }
            if (caller.packageName() == null || caller.certificates().isEmpty()) {
                return Access.deny("the system does not know this app or its signer");
            }
            Grant grant = of(caller.packageName());
            boolean sameApp = grant != null && caller.certificates().contains(grant.certificate());
            if (sameApp && grant.state() == Grant.State.ALLOWED) {
                return Access.allow();
            }
            if (!sameApp) {
                noteAsked(caller);
            }
            return Access.authRequired(message, hint, authorizeAction);
        }
    }

    /**
     * Denies only callers that the user has denied: for methods that only list tools. If one app of a shared uid is
     * denied, all are, because they can impersonate each other.
     *
     * @param caller the caller
     * @return the decision
     */
    public Access refuseDenied(Caller caller) {
        for (String name : caller.packages()) {
            Grant grant = of(name);
            if (grant != null && grant.state() == Grant.State.DENIED) {
                return Access.deny("the user has denied access for " + name);
            }
        }
        return Access.allow();
    }

    /**
     * Allows an app: the one that has asked, or else the installed one with this package.
     *
     * @param packageName package of the app
     * @param until milliseconds since 1970, or {@link #NO_END}
     * @return false if the signer is unknown, so that nothing was allowed
     */
    public boolean allow(String packageName, long until) {
        synchronized (LOCK) {
            Grant grant = of(packageName);
            String certificate = grant == null ? "" : grant.certificate();
            if (certificate.isEmpty()) {
                List<String> found = Certificates.of(manager, packageName);
                if (found.isEmpty()) {
                    return false;
                }
                certificate = found.get(0);
            }
            keep(new Grant(packageName, certificate, Grant.State.ALLOWED, until, clock.getAsLong()));
            return true;
        }
    }

    /**
     * Denies an app with any signer.
     *
     * @param packageName package of the app
     */
    public void deny(String packageName) {
        synchronized (LOCK) {
            Grant grant = of(packageName);
            String certificate = grant == null ? "" : grant.certificate();
            keep(new Grant(packageName, certificate, Grant.State.DENIED, NO_END, clock.getAsLong()));
        }
    }

    /**
     * Removes the decision on an app. It must ask again.
     *
     * @param packageName package of the app
     */
    public void revoke(String packageName) {
        synchronized (LOCK) {
            kept.edit().remove(packageName).commit();
        }
    }

    /**
     * Returns all decisions and requests.
     *
     * @return sorted by package
     */
    public List<Grant> list() {
        List<Grant> grants = new ArrayList<>();
        for (Map.Entry<String, ?> entry : kept.getAll().entrySet()) {
            Grant grant = of(entry.getKey());
            if (grant != null) {
                grants.add(grant);
            }
        }
        Collections.sort(grants, Comparator.comparing(Grant::packageName));
        return grants;
    }

    /** Returns the current grant; null if there is none. */
    private Grant of(String packageName) {
        String text = kept.getString(packageName, null);
        Grant grant = text == null ? null : Grant.fromJson(packageName, text);
        return grant == null ? null : grant.at(clock.getAsLong());
    }

    private void noteAsked(Caller caller) {
        List<Grant> waiting = new ArrayList<>();
        for (Grant grant : list()) {
            if (grant.state() == Grant.State.ASKED) {
                waiting.add(grant);
            }
        }
        Collections.sort(waiting, Comparator.comparingLong(Grant::since));
        for (int i = 0; i <= waiting.size() - MAX_ASKED; i++) {
            kept.edit().remove(waiting.get(i).packageName()).commit();
        }
        String certificate = caller.certificates().get(0);
        keep(new Grant(caller.packageName(), certificate, Grant.State.ASKED, NO_END, clock.getAsLong()));
    }

    /** Writes to disk before returning: a revoked permission must not return after a crash. */
    private void keep(Grant grant) {
        kept.edit().putString(grant.packageName(), grant.toJson()).commit();
    }
}
