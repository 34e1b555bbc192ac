package dev.toolway.bridge;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Programs of this checkout, from the system properties or the debug folder. */
final class Programs {
    private static final long TIMEOUT_S = 60;

    private Programs() {
    }

    /** Returns a built file. */
    static Path built(String property, String name) {
        String said = System.getProperty(property);
        Path path = said == null || said.isEmpty() ? checkout().resolve("target/debug").resolve(name) : Path.of(said);
        if (!Files.isReadable(path)) {
            throw new AssertionError(path + " is not there; -D" + property + "=… names another");
        }
        return path.toAbsolutePath();
    }

    /** Returns a file or folder of this checkout. */
    static Path source(String path) {
        return checkout().resolve(path);
    }

    /** Returns the closest parent folder with a `Cargo.lock`. */
    private static Path checkout() {
        Path folder = Path.of("").toAbsolutePath();
        while (folder != null && !Files.exists(folder.resolve("Cargo.lock"))) {
            folder = folder.getParent();
        }
        if (folder == null) {
            throw new AssertionError("not within a checkout");
        }
        return folder;
    }

    /** A started program and its output lines. */
    static final class Running implements AutoCloseable {
        private final Process process;
        private final LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();

        Running(Path errors, List<String> command) {
            ProcessBuilder builder = new ProcessBuilder(command).redirectError(errors.toFile());
            builder.environment().keySet().removeIf(name -> name.startsWith("TOOLWAY_"));
            try {
                process = builder.start();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            Thread reader = new Thread(this::read, "output of " + command.get(0));
            reader.setDaemon(true);
            reader.start();
        }

        private void read() {
            try (BufferedReader reader = new BufferedReader(
                    new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                    lines.add(line);
                }
            } catch (IOException e) {
                lines.add("it could not be read: " + e);
            }
        }

        /** Returns its next line. */
        String line() {
            try {
                String line = lines.poll(TIMEOUT_S, TimeUnit.SECONDS);
                if (line == null) {
                    throw new AssertionError("it said nothing for " + TIMEOUT_S + " s");
                }
                return line;
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        @Override
        public void close() {
            process.destroyForcibly();
            try {
                process.waitFor(TIMEOUT_S, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }
}
