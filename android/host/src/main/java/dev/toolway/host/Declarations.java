package dev.toolway.host;

import android.content.ComponentName;
import android.content.Intent;
import android.content.pm.ApplicationInfo;
import android.content.pm.ComponentInfo;
import android.content.pm.PackageInfo;
import android.content.pm.PackageManager;
import android.content.pm.ProviderInfo;
import android.content.pm.ResolveInfo;
import android.content.pm.ServiceInfo;
import android.content.pm.Signature;
import android.content.pm.SigningInfo;
import android.os.Build;
import android.os.Bundle;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads the declarations of tools in the manifests of installed apps, without validating them. Data that an app
 * controls (meta-data, label) is read app by app: unreadable data of one app is omitted, and does not affect others.
 */
final class Declarations {
    private static final String CETP_ACTION = "com.clawseed.action.TOOL_PROVIDER";
    private static final String CETP_AUTHORITY = "com.clawseed.tools.authority";
    private static final String CETP_VERSION = "com.clawseed.tools.version";
    private static final String MCP_TYPE = "application/vnd.mcp.tool";
    private static final String MCP_ACTION = "se.premex.mcp.MCP_PROVIDER";

    private static final int CETP_SERVICE = 0;
    private static final int MCP_MIME_TYPE = 1;
    private static final int MCP_PROVIDER = 2;

    private final PackageManager packages;

    Declarations(PackageManager packages) {
        this.packages = packages;
    }

    /** Returns the declarations of all apps, or of these. */
    Writer find(List<String> only) {
        Found found = new Found();
        if (only == null) {
            found.in(null);
        } else {
            for (String packageName : only) {
                found.in(packageName);
            }
        }
        Writer reply = Replies.done().integer(found.all.size());
        for (Entry entry : found.all) {
            entry.write(reply);
        }
        return reply;
    }

    /** Returns the owner of an authority. */
    @SuppressWarnings("deprecation") // What replaces it is there from API 33 on.
    Writer resolve(String authority) {
        ProviderInfo info = packages.resolveContentProvider(authority, 0);
        Writer reply = Replies.done().flag(info != null);
        if (info != null) {
            reply.text(info.packageName).text(info.name).flag(info.exported);
            reply.textOrNone(info.readPermission).textOrNone(info.writePermission);
        }
        return reply;
    }

    private final class Found {
        final List<Entry> all = new ArrayList<>();
        private final Map<String, App> apps = new HashMap<>();

        @SuppressWarnings("deprecation") // What replaces them is there from API 33 on.
        void in(String packageName) {
            Intent cetp = new Intent(CETP_ACTION).setPackage(packageName);
            // Without meta-data, because an app may have more than can be transferred.
            for (ResolveInfo info : packages.queryIntentServices(cetp, 0)) {
                all.add(new Entry(app(info.serviceInfo), info.serviceInfo, CETP_SERVICE));
            }
            Intent typed = new Intent(Intent.ACTION_VIEW).setType(MCP_TYPE).setPackage(packageName);
            for (ResolveInfo info : packages.queryIntentContentProviders(typed, 0)) {
                all.add(new Entry(app(info.providerInfo), info.providerInfo, MCP_MIME_TYPE));
            }
            Intent named = new Intent(MCP_ACTION).setPackage(packageName);
            for (ResolveInfo info : packages.queryIntentContentProviders(named, 0)) {
                all.add(new Entry(app(info.providerInfo), info.providerInfo, MCP_PROVIDER));
            }
        }

        private App app(ComponentInfo component) {
            App known = apps.get(component.packageName);
            if (known == null) {
                known = new App(component.packageName, label(component.applicationInfo), certificate(component));
                apps.put(component.packageName, known);
            }
            return known;
        }
    }

    private static final class App {
        final String packageName;
        final String label;
        final String certificate;

        App(String packageName, String label, String certificate) {
            this.packageName = packageName;
            this.label = label;
            this.certificate = certificate;
        }
    }

    private final class Entry {
        private final App app;
        private final ComponentInfo component;
        private final int kind;

        Entry(App app, ComponentInfo component, int kind) {
            this.app = app;
            this.component = component;
            this.kind = kind;
        }

        void write(Writer to) {
            to.text(app.packageName).textOrNone(app.label).textOrNone(app.certificate);
            to.text(component.name).flag(component.exported).raw(kind);
            if (kind == CETP_SERVICE) {
                metaData(to);
            } else {
                String authorities = ((ProviderInfo) component).authority;
                to.text(authorities == null ? "" : authorities);
            }
        }

        /** Has the type that the manifest's compiler chose: {@code "1"} is an Integer, {@code "1.0"} a Float. */
        @SuppressWarnings("deprecation")
        private void metaData(Writer to) {
            Object authority;
            Object version;
            try {
                ServiceInfo service = packages.getServiceInfo(
                        new ComponentName(component.packageName, component.name), PackageManager.GET_META_DATA);
                Bundle all = service.metaData == null ? Bundle.EMPTY : service.metaData;
                authority = all.get(CETP_AUTHORITY);
                version = all.get(CETP_VERSION);
            } catch (PackageManager.NameNotFoundException | RuntimeException e) {
                // The cause is the exception in the system's process.
                Class<?> thrown = (e.getCause() == null ? e : e.getCause()).getClass();
                to.other(thrown).other(thrown);
                return;
            }
            to.value(authority).value(version);
        }
    }

    /**
     * Returns the application's label; null if it has no readable one, for which Android would show a class or
     * package.
     */
    private String label(ApplicationInfo app) {
        CharSequence label = app.nonLocalizedLabel;
        try {
            if (label == null && app.labelRes != 0) {
                label = packages.getText(app.packageName, app.labelRes, app);
            }
        } catch (RuntimeException e) {
            return null; // Its resources are broken.
        }
        return label == null ? null : label.toString();
    }

    /**
     * Returns the SHA-256 of the certificate that the installed app is signed with, as verified by the system; for
     * several signers, of all. Never a previous certificate: the holder of a replaced key must not pass for the app.
     */
    private String certificate(ComponentInfo component) {
        Signature[] signatures;
        try {
            signatures = signatures(component.packageName);
        } catch (PackageManager.NameNotFoundException | RuntimeException e) {
            return null; // Removed since, or not to be had.
        }
        if (signatures == null || signatures.length == 0) {
            return null;
        }
        List<String> digests = new ArrayList<>(signatures.length);
        for (Signature signature : signatures) {
            digests.add(sha256(signature.toByteArray()));
        }
        Collections.sort(digests);
        return String.join(",", digests);
    }

    @SuppressWarnings("deprecation") // GET_SIGNATURES is all that there is before API 28.
    private Signature[] signatures(String packageName) throws PackageManager.NameNotFoundException {
        if (Build.VERSION.SDK_INT < Build.VERSION_CODES.P) {
            return packages.getPackageInfo(packageName, PackageManager.GET_SIGNATURES).signatures;
        }
        PackageInfo info = packages.getPackageInfo(packageName, PackageManager.GET_SIGNING_CERTIFICATES);
        SigningInfo signing = info.signingInfo;
        return signing == null ? null : signing.getApkContentsSigners();
    }

    private static String sha256(byte[] bytes) {
        byte[] digest;
        try {
            digest = MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // Every Android has it.
        }
        StringBuilder text = new StringBuilder(2 * digest.length);
        for (byte each : digest) {
            text.append(Character.forDigit((each >> 4) & 15, 16)).append(Character.forDigit(each & 15, 16));
        }
        return text.toString();
    }
}
