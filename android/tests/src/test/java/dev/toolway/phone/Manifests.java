package dev.toolway.phone;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Builds packages from manifests with the platform's compiler, which chooses the types of values. */
public final class Manifests {
    private static final Pattern LABEL = Pattern.compile("^application-label:'(.*)'$", Pattern.MULTILINE);
    private static final Map<String, Path> BUILT = new ConcurrentHashMap<>();

    private Manifests() {
    }

    /** Builds a package from the elements of an {@code <application>}; the label may be null. */
    public static Path apk(String packageName, String label, String components) {
        String attribute = label == null ? "" : " android:label=\"" + label + "\"";
        return apk("<manifest xmlns:android=\"http://schemas.android.com/apk/res/android\" package=\"" + packageName
            + "\"><uses-sdk android:minSdkVersion=\"26\" android:targetSdkVersion=\"34\" /><application" + attribute
            + ">" + components + "</application></manifest>");
    }

    /** Builds a package from a manifest. */
    public static Path apk(String manifest) {
        return BUILT.computeIfAbsent(manifest, Manifests::build);
    }

    /** Builds a sample app from the folder with its manifest and `res`. */
    public static Path apk(Path source) {
        return BUILT.computeIfAbsent(source.toString(), key -> {
            try {
                Path folder = Files.createTempDirectory("manifest");
                return build(folder, source.resolve("AndroidManifest.xml"), List.of("-S",
                    source.resolve("res").toString(), "--min-sdk-version", "26", "--target-sdk-version", "34"));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    /** A CETP app's service and provider (CETP, section 2.2) with this meta-data. */
    public static String cetp(String service, String provider, String authority, String version) {
        return "<service android:name=\"" + service + "\" android:exported=\"true\"><intent-filter>"
            + "<action android:name=\"com.clawseed.action.TOOL_PROVIDER\" /></intent-filter>"
            + "<meta-data android:name=\"com.clawseed.tools.authority\" android:value=\"" + authority + "\" />"
            + (version == null ? ""
                : "<meta-data android:name=\"com.clawseed.tools.version\" android:value=\"" + version + "\" />")
            + "</service>" + guarded(provider, authority);
    }

    /** A CETP app's provider alone. */
    public static String guarded(String provider, String authority) {
        return "<provider android:name=\"" + provider + "\" android:authorities=\"" + authority
            + "\" android:exported=\"true\" android:permission=\"com.clawseed.permission.ACCESS_TOOLS\""
            + " android:initOrder=\"100\" />";
    }

    /** An MCP provider with the MIME type (dialect `mcp-a`). */
    public static String mcpType(String provider, String authority) {
        return "<provider android:name=\"" + provider + "\" android:authorities=\"" + authority
            + "\" android:exported=\"true\"><intent-filter><action android:name=\"android.intent.action.VIEW\" />"
            + "<data android:mimeType=\"application/vnd.mcp.tool\" /></intent-filter></provider>";
    }

    /** An MCP provider with the action. */
    public static String mcpAction(String provider, String authority) {
        return "<provider android:name=\"" + provider + "\" android:authorities=\"" + authority
            + "\" android:exported=\"true\" android:permission=\"se.premex.mcp.ACCESS_PROVIDER\"><intent-filter>"
            + "<action android:name=\"se.premex.mcp.MCP_PROVIDER\" /></intent-filter></provider>";
    }

    /** Returns the label of a package's application from its resources. */
    static String label(Path apk) {
        Matcher matcher = LABEL.matcher(run(List.of("aapt", "dump", "badging", apk.toString())));
        if (!matcher.find()) {
            throw new AssertionError("no label in " + apk);
        }
        return matcher.group(1);
    }

    private static Path build(String manifest) {
        try {
            Path folder = Files.createTempDirectory("manifest");
            Path source = folder.resolve("AndroidManifest.xml");
            Files.writeString(source, "<?xml version=\"1.0\" encoding=\"utf-8\"?>" + manifest);
            return build(folder, source, List.of());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Path build(Path folder, Path manifest, List<String> more) throws IOException {
        Path apk = folder.resolve("app.apk");
        List<String> command = new ArrayList<>(List.of("aapt", "package", "-f", "-M", manifest.toString(), "-I",
            framework().toString(), "-F", apk.toString()));
        command.addAll(more);
        run(command);
        apk.toFile().deleteOnExit();
        return apk;
    }

    private static String run(List<String> command) {
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new AssertionError(command + ": " + said);
            }
            return said;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** The framework's attributes. {@code aapt} can read those of API 29, but not those of 35. */
    private static Path framework() {
        File[] jars = new File(System.getProperty("robolectric.dependency.dir")).listFiles(
            (folder, name) -> name.startsWith("android-all-10-"));
        if (jars == null || jars.length != 1) {
            throw new AssertionError("the framework of API 29 is not where Robolectric takes it from");
        }
        return jars[0].toPath();
    }
}
