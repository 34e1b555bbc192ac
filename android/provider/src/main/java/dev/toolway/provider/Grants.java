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
 * Which apps the user has allowed or denied, and which have asked. An allowance is for a package and its signing
 * certificate: another app that comes under the same name has to ask anew. It is kept in this app's preferences and
 * read by one process; objects of the same app see each other's changes at once.
 */
public final class Grants {
    /** For an allowance that does not end. */
    public static final long NO_END = Long.MAX_VALUE;

    /** Apps that have asked and got no answer; the oldest is forgotten when one more asks. */
    static final int MAX_ASKED = 50;

    private static final String FILE = "dev.toolway.provider.grants";
    /** Reading, deciding and writing are one step, whichever object does it. */
    private static final Object LOCK = new Object();

    private final SharedPreferences kept;
    private final PackageManager manager;
    private final LongSupplier clock;

    /**
     * Opens the app's grants.
     *
     * @param context any of the app
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
     * Whether the caller may, by what the user has said. One that the user has said nothing about is noted as
     * having asked.
     *
     * @param caller who asks
     * @param message what is missing until the user allows it
     * @param hint what the user should do, or null
     * @param authorizeAction the action of the activity in which it is done, or null for the app's ordinary start
     * @return the answer
     */
    public Access check(Caller caller, String message, String hint, String authorizeAction) {
        synchronized (LOCK) {
            Access refusal = refuseDenied(caller);
            if (!refusal.isAllowed()) {
                return refusal;
            }
            if (caller.packageName() == null || caller.certificates().isEmpty()) {
                return Access.deny("the system does not say which app this is, or who signed it");
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
     * Refuses whom the user has denied, and nobody else: for methods that only tell what there is. Of apps that
     * share a uid, one that is denied takes the others with it, since they can pass for each other.
     *
     * @param caller who asks
     * @return the answer
     */
    public Access refuseDenied(Caller caller) {
        for (String name : caller.packages()) {
            Grant grant = of(name);
            if (grant != null && grant.state() == Grant.State.DENIED) {
                return Access.deny("the user does not let " + name + " have this");
            }
        }
        return Access.allow();
    }

    /**
     * Allows an app: the one that has asked or, where none has, the one that is installed under this name.
     *
     * @param packageName of the app
     * @param until milliseconds since 1970, or {@link #NO_END}
     * @return false where the system does not say who signed the app, so that nothing was allowed
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
     * Denies an app, whoever signed it.
     *
     * @param packageName of the app
     */
    public void deny(String packageName) {
        synchronized (LOCK) {
            Grant grant = of(packageName);
            String certificate = grant == null ? "" : grant.certificate();
            keep(new Grant(packageName, certificate, Grant.State.DENIED, NO_END, clock.getAsLong()));
        }
    }

    /**
     * Forgets what was said about an app: it has to ask again.
     *
     * @param packageName of the app
     */
    public void revoke(String packageName) {
        synchronized (LOCK) {
            kept.edit().remove(packageName).commit();
        }
    }

    /**
     * What the user has said, and who has asked.
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

    /** As it is now; null where there is none. */
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

    /** On disk before anybody is told: what the user takes back must not come back. */
    private void keep(Grant grant) {
        kept.edit().putString(grant.packageName(), grant.toJson()).commit();
    }
}
