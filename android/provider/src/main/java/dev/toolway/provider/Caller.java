package dev.toolway.provider;

import android.content.ContentProvider;
import android.content.pm.PackageManager;
import android.os.Binder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * The app that calls, as the system says. The names are the system's word and not the caller's own. They tell which
 * app it is, not on whose behalf it asks.
 */
public final class Caller {
    private final int uid;
    private final String packageName;
    private final List<String> packages;
    private final PackageManager manager;
    private List<String> certificates;

    Caller(int uid, String packageName, List<String> packages, PackageManager manager) {
        this.uid = uid;
        this.packageName = packageName;
        this.packages = Collections.unmodifiableList(packages);
        this.manager = manager;
    }

    /** Whoever is calling the provider on this thread; to be asked before the calling identity is cleared. */
    static Caller of(ContentProvider provider) {
        int uid = Binder.getCallingUid();
        String claimed;
        try {
            claimed = provider.getCallingPackage();
        } catch (SecurityException notOfThisUid) {
            claimed = null;
        }
        PackageManager manager = provider.getContext().getPackageManager();
        String[] known = manager.getPackagesForUid(uid);
        List<String> packages = new ArrayList<>(known == null ? Collections.<String>emptyList() : Arrays.asList(known));
        if (packages.isEmpty() && claimed != null) {
            // The system has checked that it belongs to the uid, though it is hidden from us.
            packages.add(claimed);
        }
        String name = packages.contains(claimed) ? claimed : packages.size() == 1 ? packages.get(0) : null;
        return new Caller(uid, name, packages, manager);
    }

    /**
     * The Linux user that the caller runs as.
     *
     * @return the uid
     */
    public int uid() {
        return uid;
    }

    /**
     * The caller's package. Apps that share a uid can pass for each other; they are of one maker.
     *
     * @return its name, or null where the system does not say, as for a shell
     */
    public String packageName() {
        return packageName;
    }

    /**
     * All packages that share the caller's uid: nearly always one.
     *
     * @return their names; empty where the system does not say
     */
    public List<String> packages() {
        return packages;
    }

    /**
     * The certificates that the caller's package is signed with: the current one first, then those that it has
     * replaced with the system's proof of it.
     *
     * @return SHA-256 in lower-case hexadecimal; where several sign together, one entry with all of them, sorted
     *     and joined by {@code ,}. Empty where the system does not say
     */
    public synchronized List<String> certificates() {
        if (certificates == null) {
            certificates = packageName == null
                    ? Collections.<String>emptyList()
                    : Collections.unmodifiableList(Certificates.of(manager, packageName));
        }
        return certificates;
    }

    @Override
    public String toString() {
        return packageName == null ? "uid " + uid : packageName;
    }
}
