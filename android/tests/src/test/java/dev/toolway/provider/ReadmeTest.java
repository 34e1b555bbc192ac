package dev.toolway.provider;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import android.view.View;
import android.widget.Button;
import com.example.notes.AuthorizeActivity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.Robolectric;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;

/** Tests the code in the library's README. */
@RunWith(RobolectricTestRunner.class)
public class ReadmeTest {
    private static final String BRIDGE = "com.example.bridge";

    /** Reads a file of the folder `android`. */
    private static String text(String path) throws IOException {
        Path folder = Path.of("").toAbsolutePath();
        while (!Files.exists(folder.resolve("android/provider/README.md"))) {
            folder = folder.getParent();
        }
        return Files.readString(folder.resolve("android").resolve(path));
    }

    @Test
    public void theReadmeShowsTheAuthorizationScreenThatIsTested() throws IOException {
        String source = text("tests/src/test/java/com/example/notes/AuthorizeActivity.java");
        assertTrue(text("provider/README.md").contains(source.substring(source.indexOf("public final class"))));
    }

    @Test
    public void theManifestInTheReadmeExcludesGrantsFromBackups() throws IOException {
        String readme = text("provider/README.md");
        String manifest = readme.substring(readme.indexOf("<manifest"), readme.indexOf("</manifest>"));
        assertTrue(manifest, manifest.contains("android:allowBackup=\"false\""));
    }

    @Test
    public void theButtonsOfTheScreenAllowDenyAndRevoke() {
        CallingApp.install(BRIDGE);
        Grants grants = new Grants(RuntimeEnvironment.getApplication());
        grants.deny(BRIDGE);
        AuthorizeActivity screen = Robolectric.buildActivity(AuthorizeActivity.class).setup().get();
        press(screen, "Allow");
        assertEquals(Grant.State.ALLOWED, grants.list().get(0).state());
        press(screen, "Deny");
        assertEquals(Grant.State.DENIED, grants.list().get(0).state());
        press(screen, "Revoke");
        assertTrue(grants.list().isEmpty());
    }

    private static void press(AuthorizeActivity screen, String label) {
        ArrayList<View> found = new ArrayList<>();
        screen.getWindow().getDecorView().findViewsWithText(found, label, View.FIND_VIEWS_WITH_TEXT);
        View button = found.stream().filter(Button.class::isInstance).findFirst().orElseThrow();
        assertTrue("ignores touches while another app draws over it", button.getFilterTouchesWhenObscured());
        button.performClick();
    }
}
