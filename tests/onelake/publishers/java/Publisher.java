// Java's: azure-identity and azure-storage-file-datalake.
import com.azure.core.credential.TokenCredential;
import com.azure.core.util.BinaryData;
import com.azure.identity.AzureCliCredentialBuilder;
import com.azure.identity.ClientSecretCredentialBuilder;
import com.azure.identity.DefaultAzureCredentialBuilder;
import com.azure.identity.ManagedIdentityCredentialBuilder;
import com.azure.storage.file.datalake.DataLakeDirectoryClient;
import com.azure.storage.file.datalake.DataLakeFileClient;
import com.azure.storage.file.datalake.DataLakeFileSystemClient;
import com.azure.storage.file.datalake.DataLakeServiceClientBuilder;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;

public class Publisher {
    static TokenCredential credential(String way) {
        switch (way) {
            case "secret":
                return new ClientSecretCredentialBuilder().tenantId("contoso.onmicrosoft.com")
                        .clientId("app").clientSecret("no-real-secret").build();
            case "managed":
                return new ManagedIdentityCredentialBuilder().build();
            case "default":
                return new DefaultAzureCredentialBuilder().build();
            default:
                return new AzureCliCredentialBuilder().build();
        }
    }

    static void publish(String zone, String table, String way, byte[] rows) {
        URI url = URI.create(zone);
        String[] parts = url.getPath().substring(1).split("/", 2);
        DataLakeFileSystemClient landing = new DataLakeServiceClientBuilder()
                .endpoint("https://" + url.getAuthority()).credential(credential(way)).buildClient()
                .getFileSystemClient(parts[0]);
        String folder = parts[1] + "/" + table;
        DataLakeDirectoryClient there = landing.getDirectoryClient(folder);
        there.createIfNotExists();
        there.getFileClient("_metadata.json")
                .upload(BinaryData.fromString("{\"keyColumns\": [\"id\"]}"), true);
        DataLakeFileClient staged = there.getFileClient("_00000000000000000001.parquet");
        staged.upload(BinaryData.fromBytes(rows), true);
        staged.rename(null, folder + "/00000000000000000001.parquet");
    }

    public static void main(String[] words) throws Exception {
        byte[] rows = Files.readAllBytes(Path.of(words[1]));
        for (int at = 2; at < words.length; at++) {
            publish(words[0], "java_" + words[at], words[at], rows);
        }
        System.exit(0);
    }
}
