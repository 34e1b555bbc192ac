package dev.toolway.phone;

import android.content.ContentProviderClient;
import org.robolectric.annotation.Implements;

/** Nothing in the place of the framework's own client, which Robolectric's keeps away from parcels. */
@Implements(ContentProviderClient.class)
public class PlainContentProviderClient {
}
