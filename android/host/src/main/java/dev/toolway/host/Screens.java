package dev.toolway.host;

import android.content.ActivityNotFoundException;
import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.content.pm.ActivityInfo;
import android.content.pm.PackageManager;
import android.content.pm.ResolveInfo;

/** Opens screens of other apps, always within the named package. */
final class Screens {
    private final Context context;

    Screens(Context context) {
        this.context = context;
    }

    /** Opens the start screen of an app. */
    boolean launch(String packageName) {
        Intent intent = context.getPackageManager().getLaunchIntentForPackage(packageName);
        return intent != null && open(intent);
    }

    /**
     * Opens the activity of this app for this action. The provider chooses the action: it never opens another app, and
     * only the action itself is used.
     */
    boolean authorization(String packageName, String action) {
        Intent intent = new Intent(action).setPackage(packageName);
        ActivityInfo activity = find(intent, packageName);
        if (activity == null) {
            return false;
        }
        // By its class: by action, the system starts only activities whose filter has a category.
        return open(intent.setComponent(new ComponentName(packageName, activity.name)));
    }

    @SuppressWarnings("deprecation") // What replaces it is there from API 33 on.
    private ActivityInfo find(Intent intent, String packageName) {
        PackageManager packages = context.getPackageManager();
        for (ResolveInfo info : packages.queryIntentActivities(intent, 0)) {
            ActivityInfo activity = info.activityInfo;
            if (activity != null && activity.exported && packageName.equals(activity.packageName)) {
                return activity;
            }
        }
        return null;
    }

    private boolean open(Intent intent) {
        try {
            context.startActivity(intent.addFlags(Intent.FLAG_ACTIVITY_NEW_TASK));
            return true;
        } catch (ActivityNotFoundException | SecurityException e) {
            return false;
        }
    }
}
