package com.example.notes;

import android.app.Activity;
import android.widget.Button;
import android.widget.LinearLayout;
import android.widget.ScrollView;
import android.widget.TextView;
import dev.toolway.provider.Grant;
import dev.toolway.provider.Grants;
import java.util.concurrent.TimeUnit;

/** The authorization screen in the library's README. */
public final class AuthorizeActivity extends Activity {
    private static final long ALLOWED_FOR_MS = TimeUnit.DAYS.toMillis(90);

    private Grants grants;

    @Override
    protected void onResume() {
        super.onResume();
        grants = new Grants(this);
        show();
    }

    private void show() {
        LinearLayout list = new LinearLayout(this);
        list.setOrientation(LinearLayout.VERTICAL);
        for (Grant grant : grants.list()) {
            String app = grant.packageName();
            TextView text = new TextView(this);
            text.setText(app + " wants to read your notes: " + grant.state());
            list.addView(text);
            list.addView(button("Allow", () -> grants.allow(app, System.currentTimeMillis() + ALLOWED_FOR_MS)));
            list.addView(button("Deny", () -> grants.deny(app)));
            list.addView(button("Revoke", () -> grants.revoke(app)));
        }
        ScrollView scroll = new ScrollView(this);
        scroll.setFitsSystemWindows(true);
        scroll.addView(list);
        setContentView(scroll);
    }

    private Button button(String label, Runnable action) {
        Button button = new Button(this);
        button.setText(label);
        // Ignores touches while another app draws over this screen.
        button.setFilterTouchesWhenObscured(true);
        button.setOnClickListener(pressed -> {
            action.run();
            show();
        });
        return button;
    }
}
