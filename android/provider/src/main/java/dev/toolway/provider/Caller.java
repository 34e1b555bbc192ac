package dev.toolway.provider;

import android.content.ContentProvider;
import android.content.pm.PackageManager;
import android.os.Binder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * The calling app as the system identifies it. The caller can't choose these names. They identify the app, not the
 * person or program that it acts for.
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

    /** Returns the caller on this thread. Must be called before the calling identity is cleared. */
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
            // The system has verified that it belongs to the uid, although this app can't see it.
            packages.add(claimed);
        }
        String name = packages.contains(claimed) ? claimed : packages.size() == 1 ? packages.get(0) : null;
        return new Caller(uid, name, packages, manager);
    }

    /**
     * Returns the Linux user id of the caller.
     *
     * @return the uid
     */
    public int uid() {
        return uid;
    }

    /**
     * Returns the caller's package. Apps that share a uid can impersonate each other; they have the same signer.
     *
     * @return its name, or null if the system does not know it, for example for a shell
     */
    public String packageName() {
        return packageName;
    }

    /**
     * Returns all packages that share the caller's uid; usually one.
     *
     * @return their names; empty if the system does not know them
     */
    public List<String> packages() {
        return packages;
    }

    /**
     * Returns the signing certificates of the caller's package: the current one, then earlier ones that it
     * replaced with a proof that the system verified.
     *
     * @return SHA-256 in lower-case hexadecimal; if several sign together, one entry with all of them, sorted
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
