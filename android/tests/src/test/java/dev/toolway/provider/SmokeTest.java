package dev.toolway.provider;
import static org.junit.Assert.assertEquals;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
@RunWith(RobolectricTestRunner.class)
public class SmokeTest {
    @Test public void runs() {
        android.os.Bundle b = new android.os.Bundle();
        b.putString("a", "b");
        android.os.Parcel p = android.os.Parcel.obtain();
        b.writeToParcel(p, 0);
        p.setDataPosition(0);
        assertEquals("b", p.readBundle().getString("a"));
        System.out.println("SDK " + android.os.Build.VERSION.SDK_INT);
    }
}
