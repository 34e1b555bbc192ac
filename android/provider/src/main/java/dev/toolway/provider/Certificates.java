package dev.toolway.provider;

import android.content.pm.PackageInfo;
import android.content.pm.PackageManager;
import android.content.pm.Signature;
import android.content.pm.SigningInfo;
import android.os.Build;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Reads the signing certificates of packages. */
final class Certificates {
    private Certificates() {}

    /** Returns the certificates, the current one first; see {@link Caller#certificates()}. */
    static List<String> of(PackageManager manager, String packageName) {
        try {
            return Build.VERSION.SDK_INT >= Build.VERSION_CODES.P
                    ? current(manager, packageName)
                    : together(old(manager, packageName));
        } catch (PackageManager.NameNotFoundException hidden) {
            return Collections.emptyList();
        }
    }

    private static List<String> current(PackageManager manager, String packageName)
            throws PackageManager.NameNotFoundException {
        PackageInfo info = manager.getPackageInfo(packageName, PackageManager.GET_SIGNING_CERTIFICATES);
        SigningInfo signing = info.signingInfo;
        if (signing == null) {
            return Collections.emptyList();
        } else if (signing.hasMultipleSigners()) {
            return together(signing.getApkContentsSigners());
        }
        List<String> digests = new ArrayList<>();
        Signature[] history = signing.getSigningCertificateHistory();
        // The system returns the oldest one first.
        for (int i = history == null ? -1 : history.length - 1; i >= 0; i--) {
            digests.add(digest(history[i]));
        }
        return digests;
    }

    // Up to API 19 (the "fake ID" bug), this flag also returned certificates that did not sign the app. All
    // certificates together are the identity, so an attacker gains nothing by adding one.
    @SuppressWarnings("deprecation")
    private static Signature[] old(PackageManager manager, String packageName)
            throws PackageManager.NameNotFoundException {
        return manager.getPackageInfo(packageName, PackageManager.GET_SIGNATURES).signatures;
    }

    private static List<String> together(Signature[] signers) {
        List<String> digests = new ArrayList<>();
        for (Signature signer : signers == null ? new Signature[0] : signers) {
            digests.add(digest(signer));
        }
        Collections.sort(digests);
        return digests.isEmpty() ? digests : Collections.singletonList(String.join(",", digests));
    }

    private static String digest(Signature certificate) {
        try {
            StringBuilder hex = new StringBuilder();
            for (byte b : MessageDigest.getInstance("SHA-256").digest(certificate.toByteArray())) {
                hex.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
            }
            return hex.toString();
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException("SHA-256 is missing", error);
        }
    }
}
