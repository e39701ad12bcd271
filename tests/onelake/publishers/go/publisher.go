// Go's: azidentity and azdatalake.
package main

import (
	"context"
	"log"
	"net/url"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azdatalake/directory"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azdatalake/file"
)

func credential(way string) (azcore.TokenCredential, error) {
	switch way {
	case "secret":
		return azidentity.NewClientSecretCredential("contoso.onmicrosoft.com", "app", "no-real-secret", nil)
	case "managed":
		return azidentity.NewManagedIdentityCredential(nil)
	case "default":
		return azidentity.NewDefaultAzureCredential(nil)
	}
	return azidentity.NewAzureCLICredential(nil)
}

func publish(zone, table, way string, rows []byte) error {
	ctx := context.Background()
	token, err := credential(way)
	if err != nil {
		return err
	}
	folder := zone + "/" + table
	there, err := directory.NewClient(folder, token, nil)
	if err != nil {
		return err
	}
	if _, err = there.Create(ctx, nil); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"_metadata.json":                []byte(`{"keyColumns": ["id"]}`),
		"_00000000000000000001.parquet": rows,
	} {
		one, err := file.NewClient(folder+"/"+name, token, nil)
		if err != nil {
			return err
		}
		if _, err = one.Create(ctx, nil); err != nil {
			return err
		}
		if err = one.UploadBuffer(ctx, content, nil); err != nil {
			return err
		}
	}
	staged, err := file.NewClient(folder+"/_00000000000000000001.parquet", token, nil)
	if err != nil {
		return err
	}
	parsed, err := url.Parse(folder)
	if err != nil {
		return err
	}
	_, path, _ := strings.Cut(strings.TrimPrefix(parsed.Path, "/"), "/")
	_, err = staged.Rename(ctx, path+"/00000000000000000001.parquet", nil)
	return err
}

func main() {
	rows, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for _, way := range os.Args[3:] {
		if err := publish(os.Args[1], "go_"+way, way, rows); err != nil {
			log.Fatal(way, ": ", err)
		}
	}
}
